#!/usr/bin/env bash
# Sets up its own environment, then lint, types and the tests that a change can break.
#   scripts/test.sh --all   # also in a browser, on PostgreSQL, in R, with faults, fuzzing, backends
#   scripts/test.sh --without NAME   # the tests alone, on a package without that extension
# Further words go to pytest. For --all root gets Debian's packages where they are missing; where
# they cannot be had, those tests are skipped.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/setup_environment.sh "$PWD/.venv-test" dev

if [ "${1:-}" = --without ]; then
  [ -d "synthesizer/extensions/${2:?name an extension}" ] || { echo "no extension $2"; exit 2; }
  house=$(mktemp -d) && trap 'rm -r "$house"' EXIT
  cp -r synthesizer "$house" && rm -r "$house/synthesizer/extensions/$2"
  WITHOUT=$2 PYTHONPATH=$house:${PYTHONPATH:-} pytest -n auto --dist loadfile "${@:3}" tests
  exit
fi

as_root() {  # WORDS COMMAND: quietly, if apt can be used
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 0
  echo "installing $1 for the tests of the server"
  "$2" >/dev/null 2>&1 </dev/null || true
}
debian() { DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"; }
install_postgresql() {
  apt-get update -qq &&
    debian postgresql-common &&
    sed -i "s/^#\?create_main_cluster.*/create_main_cluster = false/" \
      /etc/postgresql-common/createcluster.conf &&  # the tests start their own
    debian postgresql
}
has_postgresql() {
  compgen -G "/usr/lib/postgresql/*/bin/initdb" >/dev/null || command -v initdb >/dev/null
}
install_chromium() { apt-get update -qq && debian chromium chromium-driver; }
has_chromium() { command -v chromium >/dev/null && command -v chromedriver >/dev/null; }

if [[ " $* " == *" --all "* ]]; then
  has_postgresql || as_root PostgreSQL install_postgresql
  has_postgresql || echo "PostgreSQL is not installed and cannot be: its tests are skipped"
  has_chromium || as_root Chromium install_chromium
  has_chromium || echo "Chromium is not installed and cannot be: its tests are skipped"

  # axe-core, which looks for faults of accessibility: only the script inside the package is used, so
  # what the package would import stays away.
  python -c 'import importlib.metadata; importlib.metadata.version("axe-playwright-python")' 2>/dev/null ||
    python -m pip install --quiet --disable-pip-version-check --no-deps \
      --constraint constraints.txt axe-playwright-python ||
    echo "axe-core cannot be had: pages are not tested for accessibility"

  command -v Rscript >/dev/null || echo "R is not installed: the tests of clients/r are skipped"
fi

ruff check .
ruff format --check .
mypy & types=$!  # takes one core, as pytest does while it collects
python -m pytest -n auto --dist worksteal "$@" || tests=$?
wait "$types"
exit "${tests:-0}"
