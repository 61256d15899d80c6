#!/usr/bin/env bash
# Builds the Python package into a folder and tests it with the daemons of another.
# usage: run.sh PACKAGE-FOLDER BIN-FOLDER TEST-FILE [UNITTEST-ARGUMENT...]
# Exit status: 77 if Python lacks grpc, protobuf or numpy.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
package=$1 bin=$2 tests=$3
shift 3
python=/usr/bin/python3  # where Debian's packages are
if ! "$python" -c 'import google.protobuf, grpc, numpy'; then
  echo "skipped: apt install python3-grpcio python3-numpy python3-protobuf"
  exit 77
fi
rm -rf "$package"
"$python" "$here/../generate.py" "$package" --copy
TRIBUTARY_BIN_DIR=$bin PYTHONPATH=$package exec "$python" "$here/$tests" "$@"
