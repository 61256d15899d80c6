#include "core/config/quotes_hint.h"

#include <fmt/format.h>

#include "core/runtime/printable.h"

namespace tributary::config {
namespace {

std::string_view Trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r") + 1 - first);
}

bool IsBare(std::string_view text) {
  return !text.empty() && text.find_first_of("\"'[]{}\\") == std::string_view::npos;
}

}  // namespace

std::string QuotesHint(std::string_view text, unsigned line) {
  for (; line > 1; --line) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return "";
    text.remove_prefix(end + 1);
  }
  text = text.substr(0, text.find_first_of("\n#"));
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return "";
  const std::string_view key = Trimmed(text.substr(0, equals)), value = Trimmed(text.substr(equals + 1));
  if (!IsBare(key) || !IsBare(value)) return "";
  return fmt::format("; a text stands in quotes: {} = \"{}\"", runtime::Printable(key),
                     runtime::Printable(value));
}

}  // namespace tributary::config
