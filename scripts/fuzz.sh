#!/usr/bin/env bash
# Runs every fuzz target for SECONDS each (default 60), two at a time, from the
# committed corpus. New inputs stay in build/fuzz/corpus; a crash is copied to
# tests/fuzz/crashes, where the ordinary tests replay it for ever.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
run() {
  target=$1 name=$(basename "$1" _fuzz) seconds=$2
  work=build/fuzz/corpus/$name
  mkdir -p "$work" "tests/fuzz/corpus/$name"
  if ! "$target" "$work" "tests/fuzz/corpus/$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
      -artifact_prefix="tests/fuzz/crashes/$name-" -print_final_stats=1 > "build/fuzz/$name.log" 2>&1; then
    tail -40 "build/fuzz/$name.log"; echo "fuzz: $name FAILED"; return 1
  fi
  echo "fuzz: $name $(grep -o 'stat::number_of_executed_units: *[0-9]*' "build/fuzz/$name.log" | grep -o '[0-9]*$') inputs in $seconds s, no failure"
}
export -f run
mkdir -p tests/fuzz/crashes
ls build/fuzz/*_fuzz | xargs -P 2 -I{} bash -c "run {} $seconds"
