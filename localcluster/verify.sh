#!/usr/bin/env bash
# Every check that reads the tree without running it: all of them run, and each failure is named at the end.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PATH=$PWD/.venv/bin:${XDG_CACHE_HOME:-$HOME/.cache}/pd-operator/bin:$PATH

failed=()
check() {
  local name=$1; shift
  printf 'verify: %s\n' "$name"
  "$@" || failed+=("$name")
}

# generated PATHS... -- COMMAND: what the command writes is what was there.
generated() {
  local paths=() before
  while [[ $1 != -- ]]; do paths+=("$1"); shift; done; shift
  before=$(mktemp -d)
  cp -r --parents "${paths[@]}" "$before" && "$@" >/dev/null || return 1
  local path status=0
  for path in "${paths[@]}"; do diff -ru "$before/$path" "$path" || status=1; done
  rm -rf "$before"
  return $status
}

check "ruff" ruff check --quiet .
check "ruff format" ruff format --quiet --check .
check "mypy" mypy
check "lint-imports" lint-imports
check "codespell" codespell --ignore-words-list=allready,uptodate --skip='go.sum,*.svg,./.*,./build' .
check "validate-pyproject" validate-pyproject pyproject.toml
check "the CRD is generated" generated crds -- python -m pdoperator.api.crd
check "the reference is generated" generated docs/reference -- python -m pdoperator.api.reference
check "helm lint" helm lint --strict charts/pd-operator

((${#failed[@]} == 0)) || { printf 'verify: failed: %s\n' "${failed[@]}" >&2; exit 1; }
