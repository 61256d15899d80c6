#include "core/config/nesting.h"

#include "fmt/format.h"

namespace tributary::config {
namespace {

// Where the string that begins at `at` ends: behind its closing quotes, or at the end of the line or text
// that cuts it off, which the parser refuses.
std::size_t EndOfString(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const bool multiline = text.substr(at).starts_with(quote == '"' ? R"(""")" : "'''");
  const std::size_t quotes = multiline ? 3 : 1;
  for (std::size_t i = at + quotes; i < text.size(); ++i) {
    if (text[i] == '\\' && quote == '"') {
      ++i;
    } else if (text[i] == '\n' && !multiline) {
      return i;
    } else if (text.substr(i, quotes) == text.substr(at, quotes)) {
      return i + quotes;
    }
  }
  return text.size();
}

}  // namespace

absl::Status CheckNesting(std::string_view toml, std::string_view path) {
  if (toml.size() > kMaxTextBytes) {
    return absl::InvalidArgumentError(
        fmt::format("{}: {} bytes, at most {} are allowed", path, toml.size(), kMaxTextBytes));
  }
  std::size_t depth = 0, parts = 1, line = 1;
  for (std::size_t i = 0; i < toml.size();) {
    const char c = toml[i];
    if (c == '"' || c == '\'') {
      const std::size_t end = EndOfString(toml, i);
      for (; i < end; ++i) line += toml[i] == '\n';
      continue;
    }
    if (c == '#') {
      i = toml.find('\n', i);
      if (i == toml.npos) break;
      continue;
    }
    ++i;
    if (c == '[' || c == '{') ++depth;
    if ((c == ']' || c == '}') && depth > 0) --depth;
    if (c == '.') ++parts;
    if (c == '=' || c == ',' || c == '\n' || c == '[' || c == ']' || c == '{' || c == '}') parts = 1;
    line += c == '\n';
    if (depth > kMaxNesting || parts > kMaxNesting) {
      return absl::InvalidArgumentError(fmt::format(
          "{}:{}: {}, at most {} are allowed", path, line,
          depth > kMaxNesting ? "brackets nest too deep" : "a key has too many parts", kMaxNesting));
    }
  }
  return absl::OkStatus();
}

}  // namespace tributary::config
