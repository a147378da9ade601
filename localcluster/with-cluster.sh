#!/usr/bin/env bash
# with-cluster.sh COMMAND...: run a command with a cluster up and both images loaded. A cluster that this started
# is taken down afterwards, whatever the command did, unless KEEP=1; one that was up already stays.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
cluster() { .venv/bin/python -m pdcluster "$@"; }

started=
# Set before `up`, so that a start that fails halfway is cleaned up too.
cluster status >/dev/null 2>&1 || started=yes
trap '[[ -z $started || ${KEEP:-} == 1 ]] || cluster down' EXIT
cluster up
cluster load-images
eval "$(cluster env)"
"$@"
