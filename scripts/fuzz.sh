#!/usr/bin/env bash
# Runs every fuzz target for SECONDS each (default 60), two at a time, from the
# committed corpus. New inputs stay in build/fuzz/corpus; an input that fails is
# left in tests/fuzz/crashes: commit it, and the ordinary tests replay it for ever.
set -euo pipefail
cd "$(dirname "$0")/.."
run() {
  name=${1#build/fuzz/fuzz_} seconds=$2
  found=build/fuzz/corpus/$name crashes=tests/fuzz/crashes/$name log=build/fuzz/$name.log
  mkdir -p "$found" "$crashes"
  if "$1" "$found" "tests/fuzz/corpus/$name" -max_total_time="$seconds" -max_len=65536 -timeout=10 \
      -rss_limit_mb=2048 -artifact_prefix="$crashes/" -print_final_stats=1 > "$log" 2>&1; then
    rmdir --ignore-fail-on-non-empty "$crashes"
    echo "fuzz: $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs in $seconds s, no failure"
  else
    tail -40 "$log"
    echo "fuzz: $name: FAILED, the input is in $crashes"
    return 1
  fi
}
export -f run
targets=(build/fuzz/fuzz_*)
[ -x "${targets[0]}" ] || { echo "fuzz: no targets in build/fuzz" >&2; exit 1; }
printf '%s\n' "${targets[@]}" | xargs -P 2 -I{} bash -c "run {} ${1:-60}"
