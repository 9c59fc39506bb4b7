#!/usr/bin/env bash
# Sets up its own environments, then lint, types and tests; those of reading, models, risk and commands
# once more with anonymeter, which needs older versions of numpy and pyarrow. Further words go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/setup_environment.sh "$PWD/.venv-test" dev

ruff check .
ruff format --check .
mypy
python -m pytest -n auto --dist worksteal "$@"

. scripts/setup_environment.sh "$PWD/.venv-attacks" test,attacks constraints-attacks.txt
again=(tests/data tests/models tests/panel tests/risk tests/end_to_end)
python -m pytest -n auto --dist worksteal "${@:-${again[@]}}"
