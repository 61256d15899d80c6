#include "cli/join/invitation.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "core/runtime/address.h"

namespace tributary::cli {
namespace {

constexpr std::size_t kDigits = 64;  // of a SHA-256

bool IsDigest(std::string_view text) {
  return text.size() == kDigits && std::ranges::all_of(text, [](unsigned char c) {
           return absl::ascii_isxdigit(c) && !absl::ascii_isupper(c);
         });
}

// What a header may carry.
bool IsToken(std::string_view text) {
  return text.starts_with("tributary_") && text.size() <= 128 &&
         std::ranges::all_of(text, [](unsigned char c) { return absl::ascii_isalnum(c) || c == '_'; });
}

}  // namespace

absl::StatusOr<Invitation> ParseInvitation(std::string_view text) {
  const std::size_t dot = text.find('.'), at = text.find('@');
  if (dot != std::string_view::npos && at != std::string_view::npos && dot < at) {
    Invitation invitation{std::string(text.substr(0, dot)), std::string(text.substr(dot + 1, at - dot - 1)),
                          std::string(text.substr(at + 1))};
    if (IsToken(invitation.token) && IsDigest(invitation.ca_sha256) &&
        runtime::CheckAddress(invitation.address, runtime::AddressUse::kDial).ok() &&
        runtime::ParseHostPort(invitation.address).ok()) {
      return invitation;
    }
  }
  return absl::InvalidArgumentError(
      "the token is not one of `tributary token invite`: copy the whole line, which ends with @HOST:PORT");
}

}  // namespace tributary::cli
