// One HTTPS request of a board that joins.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "core/runtime/address.h"

namespace tributary::cli {

// Whom the client trusts; empty: anybody. Then nothing secret may be sent, and the answer is only a claim.
struct HttpsServer {
  runtime::HostPort address;
  std::string ca_pem = {};
};

struct HttpsRequest {
  std::string target;      // "/api/v1/ca"
  std::string token = {};  // sent as Authorization: Bearer; empty: none
  std::string json = {};   // the body of a POST; empty: a GET
};

struct HttpsResponse {
  int status = 0;
  std::string body;
};

// A connection of its own, closed after the answer, which may have kMostAnswerBytes. Errors name the address:
// Unavailable, nobody answers within ten seconds or the TLS handshake fails (a server that the authority did
// not certify, or under another name); DataLoss, the answer is too long or no HTTP.
inline constexpr std::size_t kMostAnswerBytes = std::size_t{256} << 10;
absl::StatusOr<HttpsResponse> AskHttps(const HttpsServer& server, const HttpsRequest& request);

}  // namespace tributary::cli
