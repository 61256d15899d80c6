// The layout of a store's folder.
#pragma once

#include <string_view>

namespace tributary::store {

inline constexpr std::string_view kDatabase = "tributary.db";
inline constexpr std::string_view kModels = "models";            // a folder
inline constexpr std::string_view kSubmissions = "submissions";  // a folder

}  // namespace tributary::store
