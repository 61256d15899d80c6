// Certificate requests of strangers: only a key on P-256 comes out, and it gets a certificate that verifies.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/certificates/new_certificate.h"
#include "core/certificates/signing_request.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tributary;
  static const certificates::CertificateAndKey authority = *certificates::MakeAuthority(86'400);
  const auto key =
      certificates::KeyOfSigningRequest(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!key.ok()) return 0;
  const auto made = certificates::MakeCertificate({.name = "board"}, **key, 3'600, authority);
  if (!made.ok() || X509_verify(made->get(), authority.key.get()) != 1) std::abort();
  if (X509_get_ext_count(made->get()) != 4) std::abort();  // nothing of the request's own
  return 0;
}
