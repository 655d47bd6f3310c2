#!/usr/bin/env bash
# The two-minute tour: export a network, ask what it needs, run it on a real
# photograph inside a budget, prove the result. Called by `make demo`.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-out/demo}
python=${LOWWATER_PYTHON:-.venv/bin/python}
lowwater=build/release/lowwater
say() { printf '\n$ %s\n' "$*"; "$@"; }

rm -rf "$out" && mkdir -p "$out"
say "$python" examples/segmentation/export_unet.py "$out"
say $lowwater inspect "$out/unet.pt2"

# The tightest budget that works, in whole MiB: what `plan` says of it.
budget=$($lowwater plan "$out/unet.pt2" --json |
  "$python" -c "import json, sys; print(-(-json.load(sys.stdin)['smallest_budget_bytes'] // 2**20))")MiB
say $lowwater plan "$out/unet.pt2" --budget "$budget"
say $lowwater run "$out/unet.pt2" --budget "$budget" --input "$out/coins.png" --output "$out/mask" --format png
say $lowwater verify "$out/unet.pt2" --budget "$budget" --input "$out/coins.png"
say "$python" examples/segmentation/overlay.py "$out/coins.png" "$out/mask/coins.png" "$out/overlay.png"
