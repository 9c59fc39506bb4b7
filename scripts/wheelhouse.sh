#!/usr/bin/env bash
# Fills a folder with all that a machine without network needs to install the package:
#   scripts/wheelhouse.sh FOLDER [--extras labelled,sql] [--platform linux-x86_64] [--python 3.11]
# The folder then contains wheels, requirements.txt with their SHA-256, and sbom.json (CycloneDX).
# Platforms: linux-x86_64, linux-aarch64, macos-arm64, windows-x86_64; this machine when absent.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
usage="usage: scripts/wheelhouse.sh FOLDER [--extras A,B] [--platform NAME] [--python 3.11]"
case "${1:-}" in "" | -*) echo "$usage" >&2; exit 2 ;; esac
folder="$1"
shift
extras="" platform="" python=""
while [ $# -gt 0 ]; do
  case "$1" in
    --extras) extras="${2:?$usage}" ;;
    --platform) platform="${2:?$usage}" ;;
    --python) python="${2:?$usage}" ;;
    *) echo "unknown option $1; known: --extras, --platform, --python" >&2; exit 2 ;;
  esac
  shift 2
done

tags=() target=()
case "$platform" in
  "") ;;
  linux-x86_64 | linux-aarch64)
    processor="${platform#linux-}"
    target=(--python-platform "$processor-manylinux_2_28")
    for glibc in 2_28 2_27 2_26 2_24 2_17; do tags+=("manylinux_${glibc}_$processor"); done
    tags+=("manylinux2014_$processor") ;;
  macos-arm64)
    target=(--python-platform aarch64-apple-darwin)
    for version in 14 13 12 11; do tags+=("macosx_${version}_0_arm64"); done ;;
  windows-x86_64) target=(--python-platform x86_64-pc-windows-msvc) tags=(win_amd64) ;;
  *) echo "unknown platform $platform; known: linux-x86_64, linux-aarch64, macos-arm64," \
    "windows-x86_64" >&2; exit 2 ;;
esac

for extra in ${extras//,/ }; do
  grep -q "^$extra = \[" "$root/pyproject.toml" || { echo "no extra $extra" >&2; exit 2; }
done
if [ -e "$folder" ] && [ -n "$(ls -A "$folder")" ]; then
  echo "$folder is not empty; name another folder, or remove it" >&2
  exit 2
fi
mkdir -p "$folder"
folder="$(cd "$folder" && pwd)"
tools="$(mktemp -d)"
trap 'rm -rf "$tools"' EXIT
python3 -m venv "$tools"
pip="$tools/bin/python -m pip --quiet --disable-pip-version-check"
$pip install 'cyclonedx-bom>=7,<8' 'packaging>=24' 'uv>=0.8,<1'
$pip wheel --no-deps --wheel-dir "$folder" "$root"
wheel="$(ls "$folder"/*.whl)"
# uv reads the markers of the other platform, which pip download does not
if [ -n "$python" ]; then target+=(--python-version "$python"); fi
echo "$wheel${extras:+[$extras]}" | "$tools/bin/uv" pip compile - --quiet --no-header \
  --no-annotate --constraint "$root/constraints.txt" ${target[@]+"${target[@]}"} \
  --no-emit-package "$(basename "$wheel" | cut -d- -f1)" --output-file "$tools/versions.txt"
how=(--dest "$folder" --only-binary=:all: --no-deps)
for tag in ${tags[@]+"${tags[@]}"}; do how+=(--platform "$tag"); done
if [ -n "$python" ]; then how+=(--python-version "$python"); fi
$pip download "${how[@]}" --requirement "$tools/versions.txt"
"$tools/bin/python" - "$folder" > "$tools/requirements.txt" <<'END'
import hashlib, pathlib, sys
from packaging.utils import parse_wheel_filename

for file in sorted(pathlib.Path(sys.argv[1]).glob("*.whl")):
    name, version, *_ = parse_wheel_filename(file.name)
    print(f"{name}=={version} --hash=sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}")
END
mv "$tools/requirements.txt" "$folder"
"$tools/bin/cyclonedx-py" requirements "$folder/requirements.txt" --output-reproducible \
  --pyproject "$root/pyproject.toml" --output-file "$folder/sbom.json" 2> "$tools/warnings"
echo "$folder: $(ls "$folder"/*.whl | wc -l) wheels; on the other machine: pip install --no-index" \
  "--find-links FOLDER --require-hashes --requirement FOLDER/requirements.txt"
