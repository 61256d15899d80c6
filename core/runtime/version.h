// The release of this program.
#pragma once

#include <string>
#include <string_view>

namespace tributary::runtime {

class Metrics;

inline constexpr char kVersion[] = TRIBUTARY_VERSION;  // of CMakeLists.txt

// What --version prints: "tributary 0.1.0 (commit abc1234)", or "(built without git)" for the commit. The
// library tributary_version defines it, so a commit rebuilds only that; link it where main() is.
std::string VersionText(std::string_view program);

// tributary_build_info: 1, with the release and the commit as labels. The same library defines it.
void AddBuildInfo(Metrics& metrics);

}  // namespace tributary::runtime
