#include "core/config/pem.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <algorithm>
#include <ctime>
#include <limits>

#include "core/runtime/file.h"

namespace tributary::config {
namespace {

Bio Memory(std::string_view text) {
  constexpr auto kMost = static_cast<std::size_t>(std::numeric_limits<int>::max());
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(std::min(text.size(), kMost))));
}

// Reads objects until none is left. A damaged one after good ones would go unseen otherwise: all or nothing.
template <class Object>
std::vector<Object> All(std::string_view pem, auto* read) {
  const Bio memory = Memory(pem);
  char no_password[] = "";  // else OpenSSL asks on the terminal
  std::vector<Object> objects;
  while (objects.size() <= kMostInOneText) {
    Object object(read(memory.get(), nullptr, nullptr, no_password));
    if (object == nullptr) break;
    objects.push_back(std::move(object));
  }
  if (objects.size() > kMostInOneText) return objects;
  const unsigned long error = ERR_peek_last_error();
  const bool at_end = ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
  ERR_clear_error();  // a later user of OpenSSL on this thread would take it for its own
  if (!at_end) objects.clear();
  return objects;
}

}  // namespace

std::vector<Certificate> CertificatesIn(std::string_view pem) {
  return All<Certificate>(pem, PEM_read_bio_X509);
}

std::vector<Crl> CrlsIn(std::string_view pem) { return All<Crl>(pem, PEM_read_bio_X509_CRL); }

Key KeyIn(std::string_view pem) {
  char no_password[] = "";
  Key key(PEM_read_bio_PrivateKey(Memory(pem).get(), nullptr, nullptr, no_password));
  ERR_clear_error();
  return key;
}

std::string TextIn(const Bio& memory) {
  char* text = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &text);
  return std::string(text, static_cast<std::size_t>(size));
}

absl::StatusOr<std::string> ReadPem(const std::string& path) {
  absl::StatusOr<std::string> pem = runtime::ReadFile(path, kMostPemBytes);
  if (!absl::IsResourceExhausted(pem.status())) return pem;
  return absl::InvalidArgumentError(
      fmt::format("{}: is larger than the {} bytes that a PEM file may have", path, kMostPemBytes));
}

std::int64_t UnixSeconds(const ASN1_TIME* time) {
  std::tm parts{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &parts) != 1) return 0;
  return timegm(&parts);
}

}  // namespace tributary::config
