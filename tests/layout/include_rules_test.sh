#!/usr/bin/env bash
# The include check itself must be able to fail: plants breaches in an empty tree.
set -euo pipefail
check="$(dirname "$0")/include_rules.sh"
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

"$check" --folders | sed "s|^|$root/|" | xargs mkdir -p
mkdir -p "$root/cli/run"
"$check" "$root" >/dev/null || { echo "an empty tree must pass"; exit 1; }

plant() { # file, include line, expected verdict
  echo "$2" >"$root/$1"
  if "$check" "$root" >/dev/null; then verdict=pass; else verdict=fail; fi
  rm "$root/$1"
  [ "$verdict" = "$3" ] || { echo "$1 with $2: expected $3, got $verdict"; exit 1; }
}
plant core/estimate/a.cc '#include <grpcpp/grpcpp.h>' fail
plant core/estimate/a.h '#include "core/runtime/mutex.h"' fail
plant core/estimate/a.h '#include <vector>' pass
plant core/estimate/a_test.cc '#include <fstream>' pass
plant node/accelerator/cpu.cc '#include <xrt/xrt_device.h>' fail
plant node/accelerator/xrt_device.cc '#include <xrt/xrt_device.h>' pass
plant aggregator/fusion/a.cc '#include "node/source/source.h"' fail
plant aggregator/learning/rules/a.cc '#include <sqlite3.h>' fail
plant aggregator/learning/rules/a.cc '#include "aggregator/store/store.h"' fail
plant aggregator/learning/rules/a.cc '#include "core/privacy/cryptography.h"' pass
plant core/privacy/a.cc '#include <openssl/evp.h>' pass
plant core/privacy/a.cc '#include "core/runtime/file.h"' fail
plant core/learning/a.h '#include "tributary/v1/federation.pb.h"' pass
plant core/learning/a.h '#include "tributary/v1/federation.grpc.pb.h"' fail
plant core/config/a.cc '#include "core/learning/run_config.h"' fail
plant cli/a.cc '#include "aggregator/learning/rules/strategy.h"' fail
plant cli/run/a.cc '#include "node/config.h"' fail
plant cli/run/a.cc '#include "node/panel/panel.h"' fail
plant cli/run/a.cc '#include "node/accelerator/create.h"' pass
plant cli/run/a.cc '#include "node/workload/beacon.h"' pass
rmdir "$root"/aggregator/learning/rules
if "$check" "$root" >/dev/null; then echo "a rule for a folder that is gone must fail"; exit 1; fi
echo "the include check catches what it must"
