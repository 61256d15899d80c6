#include "aggregator/server/live_credentials.h"

#include <grpc/grpc.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

namespace tributary::server {
namespace {

// gRPC's C library asks for the certificates at each handshake. Its C++ wrapper cannot say so, but lets a
// server take any credentials that can add a port.
class LiveCredentials final : public grpc::ServerCredentials {
 public:
  LiveCredentials(config::TlsSource tls, const std::optional<grpc_auth_metadata_processor>& judge)
      : tls_(std::move(tls)),
        credentials_(grpc_ssl_server_credentials_create_with_options(
            grpc_ssl_server_credentials_create_options_using_config_fetcher(
                GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY, Fetch, this))) {
    if (judge) grpc_server_credentials_set_auth_metadata_processor(credentials_, *judge);
  }
  ~LiveCredentials() override { grpc_server_credentials_release(credentials_); }

  // ServerBuilder does not call it; the judge is given above.
  void SetAuthMetadataProcessor(const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {}

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), credentials_);
  }

  // On a thread of gRPC's, before each handshake.
  static grpc_ssl_certificate_config_reload_status Fetch(void* self,
                                                         grpc_ssl_server_certificate_config** config) {
    auto& credentials = *static_cast<LiveCredentials*>(self);
    // The version first: a replacement in between is taken before the next handshake.
    const std::uint64_t version = credentials.tls_->version();
    if (credentials.given_ == version) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    const std::shared_ptr<const config::TlsMaterial> material = credentials.tls_->material();
    const grpc_ssl_pem_key_cert_pair pair{material->key_pem.c_str(), material->certificate_pem.c_str()};
    *config = grpc_ssl_server_certificate_config_create(material->ca_pem.c_str(), &pair, 1);
    if (*config == nullptr) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_FAIL;
    credentials.given_ = version;
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

  const config::TlsSource tls_;
  std::atomic<std::uint64_t> given_ = 0;
  grpc_server_credentials* const credentials_;
};

}  // namespace

std::shared_ptr<grpc::ServerCredentials> LiveServerCredentials(
    config::TlsSource tls, const std::optional<grpc_auth_metadata_processor>& judge) {
  return std::make_shared<LiveCredentials>(std::move(tls), judge);
}

}  // namespace tributary::server
