// The commonest fault in a configuration: a text without quotes.
#pragma once

#include <string>
#include <string_view>

namespace tributary::config {

// For a line, from 1, at which TOML does not parse: what to write if its value is a text without quotes, such
// as an address, to be put behind the parser's message. Empty: it is none.
std::string QuotesHint(std::string_view text, unsigned line);

}  // namespace tributary::config
