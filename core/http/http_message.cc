#include "core/http/http_message.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"

namespace tributary::http {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = absl::ascii_tolower(static_cast<unsigned char>(c));
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

absl::StatusOr<std::string> Decode(std::string_view text, bool plus_is_space) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      const int high = i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? HexDigit(text[i + 2]) : -1;
      if (high < 0 || low < 0)
        return absl::InvalidArgumentError("a percent escape needs two hexadecimal digits");
      c = static_cast<char>(high * 16 + low);
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
  absl::StatusOr<std::string> path = Decode(target.substr(0, question), false);
  if (!path.ok()) return path.status();
  request.path = *std::move(path);
  for (std::string_view left = target.substr(question); !left.empty();) {
    left.remove_prefix(1);  // '?' or '&'
    const std::string_view pair = left.substr(0, left.find('&'));
    left.remove_prefix(pair.size());
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    absl::StatusOr<std::string> key = Decode(pair.substr(0, equals), true);
    absl::StatusOr<std::string> value = Decode(pair.substr(std::min(equals + 1, pair.size())), true);
    if (!key.ok()) return key.status();
    if (!value.ok()) return value.status();
    request.query.insert_or_assign(*std::move(key), *std::move(value));
  }
  return request;
}

}  // namespace tributary::http
