#!/usr/bin/env bash
# Sets up its own environment, then lint, types and tests. Further words go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/setup_environment.sh "$PWD/.venv-test" dev

ruff check .
ruff format --check .
mypy
python -m pytest -n auto --dist worksteal "$@"
