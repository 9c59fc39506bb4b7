#!/usr/bin/env bash
# Sets up its own environment and runs the main job twice: on real microdata that a dependency
# ships, statsmodels' "fair" (6,366 women, 9 variables), and on careers of a simulated federal
# workforce (2,000 persons, 24 years, 29 variables). Nothing is downloaded but packages. Words after
# the command go to the first run.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/setup_environment.sh "$PWD/.venv-demo" samples

synthesizer plan scripts/configs/fair.yaml
synthesizer run scripts/configs/fair.yaml --overwrite "$@"

# To save time without the checks that synthesise halves of the data.
careers=demo_output/federal_workforce
mkdir -p demo_output
awk '{ print }
  /^checks:/ { print "  differential_confidentiality: false\n  nearest: false\n  attacks: false" }' \
  scripts/configs/federal_workforce.yaml > demo_output/federal_workforce.yaml
synthesizer run demo_output/federal_workforce.yaml --out "$careers" --overwrite
echo "reports: demo_output/report.html, $careers/report.html"
