#!/usr/bin/env bash
# Clang's thread-safety analysis and clang-tidy (.clang-tidy) over every source file that ships, in one parse each.
# usage: analyse.sh [FILE-REGEX]
set -euo pipefail
cd "$(dirname "$0")/../.."
deploy/build.sh tidy tributary_protocol tributary_commit  # what sources include and the build makes
mapfile -t files < <(git ls-files -- '*.cc' | grep -vE '_(test|fuzz|bench)\.cc$' | grep -E "${1:-.}")
printf '%s\n' "${files[@]}" |
  xargs -P "$(nproc)" -n 4 clang-tidy --quiet -p build/tidy --warnings-as-errors='*' \
    --extra-arg=-Wno-unused-command-line-argument 2>&1 |  # the commands are GCC's
  grep -vE '^[0-9]+ warnings? (generated|treated)|^Suppressed|^Use -header-filter' || [ "${PIPESTATUS[1]}" -eq 0 ]
echo "analysed: ${#files[@]} files"
