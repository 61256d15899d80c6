#include "core/runtime/version.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "core/runtime/metrics.h"
#include "tributary_commit.h"

namespace tributary::runtime {
namespace {

constexpr std::string_view kCommit = TRIBUTARY_COMMIT;

}  // namespace

std::string VersionText(std::string_view program) {
  const std::string built =
      kCommit.empty() ? "built without git" : fmt::format("commit {}", std::string(kCommit));
  return fmt::format("{} {} ({})", program, kVersion, built);
}

void AddBuildInfo(Metrics& metrics) {
  metrics.AddGaugeCallback("tributary_build_info",
                           "1; the labels say what runs here. Commit: empty if it was built without git.",
                           {{"version", kVersion}, {"commit", std::string(kCommit)}}, [] { return 1.0; });
}

}  // namespace tributary::runtime
