#!/usr/bin/env bash
# Installs what is missing: system packages (Debian/Ubuntu) and, unless PYTHON
# names an existing Python, a virtual environment in .venv.
#   scripts/setup.sh           everything
#   PYTHON=python3 scripts/setup.sh   nothing: only checks that PYTHON has torch
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(g++ cmake ninja-build ccache git python3-venv clang clang-tidy clang-format
          libclang-rt-14-dev zlib1g-dev libfmt-dev nlohmann-json3-dev libcli11-dev libsqlite3-dev
          libpng-dev libjpeg-dev libgtest-dev libbenchmark-dev librapidcheck-dev)

if [ -n "${PYTHON:-}" ]; then
  "$PYTHON" -c 'import torch' || { echo "setup: $PYTHON cannot import torch; unset PYTHON to get a .venv" >&2; exit 1; }
  exit 0
fi

if command -v dpkg-query >/dev/null; then
  missing=()
  for package in "${packages[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  if [ ${#missing[@]} -gt 0 ]; then
    echo "setup: installing ${missing[*]}"
    sudo=""; [ "$(id -u)" = 0 ] || sudo=sudo
    $sudo apt-get update -qq
    DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
  fi
else
  echo "setup: no dpkg here; needed are: ${packages[*]}" >&2
fi

# A stamp holds the requirements that were installed, so that a second call is free.
stamp=.venv/installed
wanted=$(cat requirements/base.txt requirements/test.txt)
if [ ! -x .venv/bin/python ] || [ "$(cat $stamp 2>/dev/null)" != "$wanted" ]; then
  echo "setup: installing PyTorch and the test networks into .venv (about 6 GB)"
  [ -x .venv/bin/python ] || python3 -m venv .venv
  .venv/bin/python -m pip install -q --disable-pip-version-check -r requirements/test.txt
  printf '%s' "$wanted" > $stamp
fi
