// What `tributary token invite` prints and `tributary join` takes: everything a board must know to join.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace tributary::cli {

// As text: "tributary_3fa94c12_SECRET.CA@hub:7480". SECRET and CA have 64 hexadecimal digits each.
struct Invitation {
  std::string token;      // for the aggregator alone
  std::string ca_sha256;  // of the authority's certificate: by this the board knows the aggregator
  std::string address;    // of the aggregator's HTTPS: "host:port"

  std::string Text() const { return token + "." + ca_sha256 + "@" + address; }
};

// InvalidArgument, without repeating the text, which is a secret.
absl::StatusOr<Invitation> ParseInvitation(std::string_view text);

}  // namespace tributary::cli
