#!/usr/bin/env bash
# Clang's thread-safety analysis and clang-tidy (.clang-tidy) over the sources that ship, in the batches in which they are compiled.
# usage: analyse.sh [REGEX of folders, e.g. 'core/(http|link)/']
set -euo pipefail
cd "$(dirname "$0")/../.."
deploy/build.sh tidy tributary_protocol tributary_commit  # what sources include and the build makes
mapfile -t batches < <(jq -r '.[].file' build/tidy/compile_commands.json | sed "s#^$PWD/##" |
  grep -vE '^build/tidy/(proto/.*|dashboard/.*|core/survey/example_survey\.cc)$' | grep -E "^(build/tidy/)?(${1:-.*})")
[ ${#batches[@]} -gt 0 ] || { echo "no source in a folder like ${1:-.}"; exit 1; }
printf '%s\n' "${batches[@]}" |
  xargs -P "$(nproc)" -n 1 clang-tidy --quiet -p build/tidy --warnings-as-errors='*' 2>&1 |
  grep -vE '^[0-9]+ warnings? (generated|treated)|^Suppressed|^Use -header-filter' || [ "${PIPESTATUS[1]}" -eq 0 ]
echo "analysed: ${#batches[@]} batches of files"
