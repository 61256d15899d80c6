#!/usr/bin/env bash
# Sets up a fresh Debian 12 and runs every test. Further arguments go to ctest, e.g. ./test.sh -R fusion
set -euo pipefail
cd "$(dirname "$0")"

if [ "${1:-}" = --help ]; then
  cat <<'TEXT'
usage: ./test.sh [CTEST-ARGUMENT...]
Installs what is missing, builds the release preset and runs the tests.
  ./test.sh                 everything
  ./test.sh -R fusion       only tests whose name contains "fusion"
  TRIBUTARY_DATA_DIR=DIR    recorded data (MNIST, KMNIST, UWB); tests that need it are skipped without it
TEXT
  exit 0
fi

deploy/install-packages.sh deploy/packages.txt deploy/packages-page.txt deploy/packages-fpga.txt deploy/packages-tests.txt
deploy/build.sh release -DTRIBUTARY_RTL=ON -DTRIBUTARY_XRT=ON
# synth_full takes minutes a block (docs/fpga-resources.md records its figures), slow minutes a test (docs/federation.md).
ctest --test-dir build/release --output-on-failure --no-tests=error -j "$(nproc)" -LE 'synth_full|slow' "$@"
