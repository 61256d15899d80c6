#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "core/http/http_server.h"
#include "core/status/macros.h"

namespace tributary::http {
namespace {

absl::StatusOr<std::string> Decode(std::string_view text, bool plus_is_space) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      const std::string_view digits = text.substr(i + 1, 2);
      unsigned char byte = 0;
      if (digits.size() < 2 ||
          std::from_chars(digits.data(), digits.data() + 2, byte, 16).ptr != digits.data() + 2) {
        return absl::InvalidArgumentError("a percent escape needs two hexadecimal digits");
      }
      c = static_cast<char>(byte);
      i += 2;
    } else if (c == '+' && plus_is_space) {
      c = ' ';
    }
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) {
      return absl::InvalidArgumentError("control characters are not allowed");
    }
    decoded.push_back(c);
  }
  return decoded;
}

}  // namespace

absl::StatusOr<HttpRequest> ParseHttpTarget(std::string_view target) {
  if (target.empty() || target.front() != '/')
    return absl::InvalidArgumentError("the target must begin with '/'");
  target = target.substr(0, target.find('#'));
  const std::size_t question = std::min(target.find('?'), target.size());
  HttpRequest request;
  ASSIGN_OR_RETURN(request.path, Decode(target.substr(0, question), false));
  for (const absl::string_view pair : absl::StrSplit(
           absl::ClippedSubstr({target.data(), target.size()}, question + 1), '&', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(pair, absl::MaxSplits('=', 1));
    ASSIGN_OR_RETURN(std::string key, Decode(parts.first, true));
    ASSIGN_OR_RETURN(std::string value, Decode(parts.second, true));
    request.query.insert_or_assign(std::move(key), std::move(value));
  }
  return request;
}

}  // namespace tributary::http
