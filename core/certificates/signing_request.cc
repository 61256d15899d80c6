#include "core/certificates/signing_request.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>

#include "core/status/freed_by.h"

namespace tributary::certificates {
namespace {

using Request = std::unique_ptr<X509_REQ, FreedBy<X509_REQ_free>>;

// A SubjectPublicKeyInfo of the named curve with an uncompressed point (RFC 5480) has this length, and no
// other.
constexpr int kP256KeyBytes = 91;

bool IsP256(EVP_PKEY* key) {
  char group[32] = {};
  return EVP_PKEY_get_base_id(key) == EVP_PKEY_EC && i2d_PUBKEY(key, nullptr) == kP256KeyBytes &&
         EVP_PKEY_get_group_name(key, group, sizeof group, nullptr) == 1 &&
         std::string_view(group) == SN_X9_62_prime256v1;
}

absl::StatusOr<config::Key> TakeKey(std::string_view pem) {
  const config::Bio memory(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  char no_password[] = "";  // else OpenSSL asks on the terminal
  const Request request(PEM_read_bio_X509_REQ(memory.get(), nullptr, nullptr, no_password));
  if (request == nullptr) return absl::InvalidArgumentError("is not a PEM certificate request");
  config::Key key(X509_REQ_get_pubkey(request.get()));
  if (key == nullptr || !IsP256(key.get())) {
    return absl::InvalidArgumentError("its key is not an EC key on the curve P-256");
  }
  if (X509_REQ_verify(request.get(), key.get()) != 1) {
    return absl::InvalidArgumentError("its signature is not by its key");
  }
  return key;
}

}  // namespace

absl::StatusOr<std::string> MakeSigningRequest(EVP_PKEY& key) {
  const Request request(X509_REQ_new());
  const config::Bio memory(BIO_new(BIO_s_mem()));
  if (X509_REQ_set_version(request.get(), X509_REQ_VERSION_1) != 1 ||
      X509_REQ_set_pubkey(request.get(), &key) != 1 ||
      X509_REQ_sign(request.get(), &key, EVP_sha256()) == 0 ||
      PEM_write_bio_X509_REQ(memory.get(), request.get()) != 1) {
    ERR_clear_error();
    return absl::InternalError("OpenSSL cannot make a certificate request");
  }
  return config::TextIn(memory);
}

absl::StatusOr<config::Key> KeyOfSigningRequest(std::string_view pem) {
  if (pem.size() > kMostRequestBytes) {
    return absl::InvalidArgumentError(fmt::format("certificate request: has {} bytes, at most {} are allowed",
                                                  pem.size(), kMostRequestBytes));
  }
  absl::StatusOr<config::Key> key = TakeKey(pem);
  ERR_clear_error();  // a later user of OpenSSL on this thread would take it for its own
  if (key.ok()) return key;
  return absl::InvalidArgumentError(
      fmt::format("certificate request: {}", std::string(key.status().message())));
}

}  // namespace tributary::certificates
