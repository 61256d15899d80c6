#!/usr/bin/env bash
# Fails on what shellcheck finds in the scripts.
set -euo pipefail
cd "$(dirname "$0")/../.."
mapfile -t scripts < <(git grep -lE '^#!.*\bbash' -- . && git ls-files -- '*.sh')
shellcheck -x "${scripts[@]}"
echo "shellcheck: ${#scripts[@]} scripts"
