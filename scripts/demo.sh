#!/usr/bin/env bash
# Sets up its own environment and runs the main job on real microdata that a dependency ships:
# statsmodels' "fair" (6,366 women, 9 variables). Nothing is downloaded but packages.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/setup_environment.sh "$PWD/.venv-demo" samples

synthesizer plan scripts/configs/fair.yaml
synthesizer run scripts/configs/fair.yaml --overwrite "$@"
