// A TLS connection that sends any bytes.
#pragma once

#include <openssl/ssl.h>
#include <poll.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "tests/faults/attacks/attack.h"
#include "tests/faults/attacks/raw_socket.h"

namespace tributary::testing {

// The certificate of a target's attacker, read once: an attacker who reads it for each connection uses up the
// processor that it shares with those who are attacked.
class TlsIdentity {
 public:
  explicit TlsIdentity(const Target& target) : context_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free) {
    constexpr std::array<unsigned char, 3> kHttp2 = {2, 'h', '2'};
    ok_ = SSL_CTX_use_certificate_chain_file(context_.get(), target.certificate.c_str()) == 1 &&
          SSL_CTX_use_PrivateKey_file(context_.get(), target.key.c_str(), SSL_FILETYPE_PEM) == 1 &&
          SSL_CTX_set_alpn_protos(context_.get(), kHttp2.data(), kHttp2.size()) == 0;
  }

  bool ok() const { return ok_; }
  SSL_CTX* context() const { return context_.get(); }

 private:
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
  bool ok_ = false;
};

class TlsSocket {
 public:
  TlsSocket(std::uint16_t port, const TlsIdentity& identity) : TlsSocket(port, identity.context()) {}
  // From 127.0.0.`host`.
  TlsSocket(std::uint16_t port, SSL_CTX* identity, std::uint32_t host = 2)
      : socket_(port, host), tls_(SSL_new(identity), SSL_free) {
    open_ = socket_.open() && SSL_set_fd(tls_.get(), socket_.fd()) == 1 && SSL_connect(tls_.get()) == 1;
  }

  bool open() const { return open_; }

  // As RawSocket's.
  bool Send(std::string_view bytes) {
    if (SSL_write(tls_.get(), bytes.data(), static_cast<int>(bytes.size())) <= 0) return false;
    pollfd readable{socket_.fd(), POLLIN, 0};
    while (SSL_pending(tls_.get()) > 0 || poll(&readable, 1, 0) > 0) {
      if (SSL_read(tls_.get(), ignored_.data(), ignored_.size()) <= 0) return false;
    }
    return true;
  }

  // The record of these bytes, at most 16 KiB, which SendRaw sends. Nothing else may be sent afterwards.
  std::string Sealed(std::string_view bytes) {
    SSL_set0_wbio(tls_.get(), BIO_new(BIO_s_mem()));
    SSL_write(tls_.get(), bytes.data(), static_cast<int>(bytes.size()));
    std::string record(bytes.size() + 1'024, '\0');
    const int length = BIO_read(SSL_get_wbio(tls_.get()), record.data(), static_cast<int>(record.size()));
    record.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
    return record;
  }
  bool SendRaw(std::string_view bytes) { return socket_.SendOnly(bytes); }

 private:
  RawSocket socket_;
  std::unique_ptr<SSL, decltype(&SSL_free)> tls_;
  std::array<char, 16'384> ignored_;
  bool open_ = false;
};

}  // namespace tributary::testing
