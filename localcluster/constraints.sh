#!/usr/bin/env bash
# Write constraints.txt: the newest versions that pyproject.toml allows, resolved apart from what this machine has.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
scratch=$(mktemp -d); trap 'rm -rf "$scratch"' EXIT
/usr/bin/python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --upgrade pip
"$scratch/venv/bin/pip" install --quiet --dry-run --report "$scratch/report.json" \
  --editable ".[operator,worker-cpu]" --group dev
"$scratch/venv/bin/python" - "$scratch/report.json" > constraints.txt <<'PYTHON'
import importlib.metadata
import json
import sys

with open(sys.argv[1]) as report:
    packages = [item["metadata"] for item in json.load(report)["install"]]
pins = {p["name"].lower().replace("_", "-"): p["version"] for p in packages if p["name"] != "pd-operator"}
pins["pip"] = importlib.metadata.version("pip")
print("# Every package of the development environment and of the images, at the version that is tested.")
print("# torch and numpy are not here: without a GPU they are Debian's. `make constraints` writes this file.")
for name, version in sorted(pins.items()):
    print(f"{name}=={version}")
PYTHON
