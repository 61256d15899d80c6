#include "core/runtime/printable.h"

#include <fmt/format.h>

#include <bit>

namespace tributary::runtime {
namespace {

// Length of the first character; 0 if that must not reach a terminal.
std::size_t PrintableBytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(0);
  if (first < 0x80) return first == '\n' || (first >= 0x20 && first != 0x7f);
  const int length = std::countl_one(static_cast<unsigned char>(first));
  if (length < 2 || length > 4) return 0;
  char32_t character = first & (0x7fu >> length);
  for (int i = 1; i < length; ++i) {
    if (byte(i) >> 6 != 2) return 0;
    character = character << 6 | (byte(i) & 0x3fu);
  }
  // C1 and overlong forms; then the invisible ones and those of direction (Unicode 15, categories Cf, Zl,
  // Zp).
  const bool hidden = character < 0xa0 || character == 0x61c ||
                      (character >= 0x200b && character <= 0x200f) ||
                      (character >= 0x2028 && character <= 0x202e) ||
                      (character >= 0x2060 && character <= 0x206f) || character == 0xfeff;
  return hidden ? 0 : length;
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string printable;
  while (!text.empty()) {
    const std::size_t bytes = PrintableBytes(text);
    if (bytes == 0) printable += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    printable += text.substr(0, bytes);
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return printable;
}

std::string Counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace tributary::runtime
