// Requests for a certificate (PKCS#10). An authority takes nothing but the key from one: whatever name, use
// or extension it declares is ignored.
#pragma once

#include <openssl/evp.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/config/pem.h"

namespace tributary::certificates {

// A request of `tributary join` has some 400.
inline constexpr std::size_t kMostRequestBytes = 4096;

// A request for the certificate of this key, as PEM. Internal: OpenSSL cannot make it.
absl::StatusOr<std::string> MakeSigningRequest(EVP_PKEY& key);

// The public key of a request, whose private part the sender has proved to own. InvalidArgument: the text has
// more than kMostRequestBytes or is no request, its key is not on the curve P-256, or its signature is wrong.
absl::StatusOr<config::Key> KeyOfSigningRequest(std::string_view pem);

}  // namespace tributary::certificates
