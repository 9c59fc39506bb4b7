#!/usr/bin/env bash
# Sets up its own environment, then lint, types and tests. Further words go to pytest.
# The server is tested on PostgreSQL, too: root gets Debian's package where it is missing; where it
# cannot be had, those tests are skipped.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/setup_environment.sh "$PWD/.venv-test" dev

install_postgresql() {
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq &&
    apt-get install -y -qq --no-install-recommends postgresql-common &&
    sed -i "s/^#\?create_main_cluster.*/create_main_cluster = false/" \
      /etc/postgresql-common/createcluster.conf &&  # the tests start their own
    apt-get install -y -qq --no-install-recommends postgresql
}
if ! compgen -G "/usr/lib/postgresql/*/bin/initdb" >/dev/null && ! command -v initdb >/dev/null; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing PostgreSQL for the tests of the server"
    install_postgresql >/dev/null 2>&1 </dev/null || true
  fi
  compgen -G "/usr/lib/postgresql/*/bin/initdb" >/dev/null ||
    echo "PostgreSQL is not installed and cannot be: its tests are skipped"
fi

ruff check .
ruff format --check .
mypy
python -m pytest -n auto --dist worksteal "$@"
