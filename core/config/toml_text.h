// Text for a TOML file.
#pragma once

#include <string>
#include <string_view>

namespace tributary::config {

// As TOML has it between quotes. The text has no control characters.
inline std::string QuotedToml(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace tributary::config
