// The release that this is.
#pragma once

namespace tributary {

inline constexpr char kVersion[] = TRIBUTARY_VERSION;  // of CMakeLists.txt

}  // namespace tributary
