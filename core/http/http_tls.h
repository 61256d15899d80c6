// TLS of the HTTP server, by the certificate that the daemon uses everywhere.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/config/live_tls.h"

namespace tributary::http {

// A server's context: TLS 1.2 or later, no tickets and no renegotiation. A client may show a certificate of
// the CA, and need not. Errors: InvalidArgument in OpenSSL's words.
absl::StatusOr<std::shared_ptr<boost::asio::ssl::context>> MakeTlsContext(
    const config::TlsMaterial& material);

// The context of the certificates in force. One thread.
class LiveTlsContext {
 public:
  explicit LiveTlsContext(config::TlsSource tls) : tls_(std::move(tls)) {}

  // For the next connection: open ones keep theirs. If the material cannot be used, the one before stays;
  // null: there was none.
  std::shared_ptr<boost::asio::ssl::context> Get();

 private:
  const config::TlsSource tls_;
  std::uint64_t version_ = 0;
  std::shared_ptr<boost::asio::ssl::context> context_;
};

// The certificate that the client of a finished handshake has shown, as PEM; empty: none.
std::string ClientCertificate(SSL* ssl);

}  // namespace tributary::http
