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

check "ruff" ruff check --quiet .
check "ruff format" ruff format --quiet --check .
check "mypy" mypy
check "lint-imports" lint-imports
check "codespell" codespell --ignore-words-list=allready,uptodate --skip='go.sum,*.svg,./.*,./build' .
check "validate-pyproject" validate-pyproject pyproject.toml
check "generated files are up to date" python -m pdoperator.generate --check
check "helm lint" helm lint --strict charts/pd-operator

((${#failed[@]} == 0)) || { printf 'verify: failed: %s\n' "${failed[@]}" >&2; exit 1; }
