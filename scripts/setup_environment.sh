#!/usr/bin/env bash
# Makes a virtual environment with the tested versions and installs the project into it, once:
#   . scripts/setup_environment.sh DIRECTORY EXTRAS
# The stamp in the directory says for which requirements it was made.
set -euo pipefail

venv="$1"
extras="$2"
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
stamp="$(cat "$root/pyproject.toml" "$root/constraints.txt" "$root"/synthesizer/models/kit/kernels.c | cksum) $extras $root"

find_python() {
  local name
  for name in python3.11 python3.12 python3.13 python3.14 python3; do
    if command -v "$name" >/dev/null && "$name" -c \
      'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      echo "$name"
      return
    fi
  done
  echo "needs Python 3.11 or newer with venv and pip (Debian: apt install python3-venv)" >&2
  return 1
}

if [ ! -f "$venv/stamp" ] || [ "$(cat "$venv/stamp")" != "$stamp" ]; then
  echo "setting up $venv (a few minutes, once)"
  rm -rf "$venv"
  "$(find_python)" -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile \
    --constraint "$root/constraints.txt" --editable "$root[$extras]"
  echo "$stamp" > "$venv/stamp"
fi
export PATH="$venv/bin:$PATH"
unset PYTHONDONTWRITEBYTECODE  # what is compiled when it is first used has to be kept
