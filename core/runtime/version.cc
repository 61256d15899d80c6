#include "core/runtime/version.h"

#include <fmt/format.h>

#include "tributary_commit.h"

namespace tributary::runtime {

std::string VersionText(std::string_view program) {
  constexpr std::string_view kCommit = TRIBUTARY_COMMIT;
  const std::string built =
      kCommit.empty() ? "built without git" : fmt::format("commit {}", std::string(kCommit));
  return fmt::format("{} {} ({})", program, kVersion, built);
}

}  // namespace tributary::runtime
