#include "core/http/http_tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <boost/asio/buffer.hpp>
#include <utility>

#include "core/config/pem.h"
#include "core/runtime/log.h"

namespace tributary::http {

namespace ssl = boost::asio::ssl;

absl::StatusOr<std::shared_ptr<ssl::context>> MakeTlsContext(const config::TlsMaterial& material) {
  try {
    auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
    const auto pem = [](const std::string& text) { return boost::asio::buffer(text); };
    context->set_options(ssl::context::default_workarounds | ssl::context::no_sslv2 | ssl::context::no_sslv3 |
                         ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1);
    context->use_certificate_chain(pem(material.certificate_pem));
    context->use_private_key(pem(material.key_pem), ssl::context::pem);
    context->add_certificate_authority(pem(material.ca_pem));
    context->set_verify_mode(ssl::verify_peer);
    SSL_CTX* const native = context->native_handle();
    SSL_CTX_set_options(native, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(native, 0);
    constexpr long kMostChainBytes = 8 << 10;  // OpenSSL takes 0.1 ms for each certificate, however small
    SSL_CTX_set_max_cert_list(native, kMostChainBytes);
    SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
    // A browser offers the certificates of these, and asks its user for no other.
    for (const config::Certificate& ca : config::CertificatesIn(material.ca_pem)) {
      SSL_CTX_add_client_CA(native, ca.get());
    }
    return context;
  } catch (const boost::system::system_error& fault) {
    ERR_clear_error();
    return absl::InvalidArgumentError(fault.what());
  }
}

std::shared_ptr<ssl::context> LiveTlsContext::Get() {
  // The version first: a replacement in between is taken for the next connection.
  const std::uint64_t version = tls_->version();
  if (version == version_) return context_;
  version_ = version;
  auto made = MakeTlsContext(*tls_->material());
  if (made.ok()) {
    context_ = *std::move(made);
  } else {
    runtime::LogError("http: the certificate in force cannot be used: {}",
                      std::string(made.status().message()));
  }
  return context_;
}

std::string ClientCertificate(SSL* ssl) {
  const config::Certificate certificate(SSL_get1_peer_certificate(ssl));
  if (certificate == nullptr) return "";
  const config::Bio text(BIO_new(BIO_s_mem()));
  if (text == nullptr || PEM_write_bio_X509(text.get(), certificate.get()) != 1) return "";
  return config::TextIn(text);
}

}  // namespace tributary::http
