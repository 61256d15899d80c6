// Text fit for a terminal and a log.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tributary::runtime {

// Text that may come from a hostile file or peer: UTF-8 with its line breaks, but control characters,
// invisible ones, marks of the writing direction and bytes that are no UTF-8 appear as "\x1b". Applying it
// again changes nothing.
std::string Printable(std::string_view text);

// "1 panel", "2 panels".
std::string Counted(std::uint64_t count, std::string_view noun);

}  // namespace tributary::runtime
