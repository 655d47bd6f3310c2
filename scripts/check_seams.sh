#!/usr/bin/env bash
# Proves the flow: torch is included in exec/, the session and the binding
# alone, and no stage includes a header of a stage to its right. (The build
# enforces the second; this says it without building.)
set -euo pipefail
cd "$(dirname "$0")/.."
failed=0

if grep -rnE '#include *[<"](torch|ATen|c10|caffe2)/' --include='*.cc' --include='*.h' include src cli \
    | grep -vE '^src/(exec/|session[^/]*\.(cc|h):)'; then
  echo "seams: torch is included outside exec/, the session and the binding" >&2
  failed=1
fi

flow=(base archive graph ops rewrite analysis plan report)
for i in "${!flow[@]}"; do
  for ((j = i + 1; j < ${#flow[@]}; ++j)); do
    if grep -rnE "#include \"${flow[$j]}/" "src/${flow[$i]}"; then
      echo "seams: ${flow[$i]} includes ${flow[$j]}, which stands to its right" >&2
      failed=1
    fi
  done
  if grep -rnE '#include "exec/' "src/${flow[$i]}"; then
    echo "seams: ${flow[$i]} includes exec" >&2
    failed=1
  fi
done
exit $failed
