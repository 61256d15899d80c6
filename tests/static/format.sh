#!/usr/bin/env bash
# Fails on code that clang-format would write otherwise.
set -euo pipefail
cd "$(dirname "$0")/../.."
git ls-files -z -- '*.cc' '*.h' | xargs -0 clang-format --dry-run --Werror
echo "format: $(git ls-files -- '*.cc' '*.h' | wc -l) files"
