// How deep a TOML text may nest, judged before it is parsed: the parser and everything that walks its tree
// recurse.
#pragma once

#include <cstddef>
#include <string_view>

#include "absl/status/status.h"

namespace tributary::config {

// No configuration and no run nests deeper than five.
inline constexpr std::size_t kMaxNesting = 32;
inline constexpr std::size_t kMaxTextBytes = std::size_t{1} << 20;

// Reads what begins and ends strings, comments, brackets and keys, and nothing else; a text that is not TOML
// may pass. Linear in the text, without recursion. Errors: InvalidArgument for a text beyond kMaxTextBytes,
// and, with the line, for more than kMaxNesting brackets or braces inside each other or parts in a dotted
// key.
absl::Status CheckNesting(std::string_view toml, std::string_view path);

}  // namespace tributary::config
