#include "aggregator/join/authority.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "core/config/pem.h"
#include "core/config/writers.h"
#include "core/status/macros.h"

namespace tributary::join {
namespace {

absl::Status CheckKeyIsPrivate(const std::string& path) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0 || (facts.st_mode & (S_IRWXG | S_IRWXO)) == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("{}: others than its owner may use it; take that right away: chmod 600 {}", path, path));
}

// Start finds it, rather than the first board.
absl::Status CheckRecordGrows(const std::string& folder) {
  const std::string path = folder + "/" + certificates::IssueRecord::kFile;
  if (access(path.c_str(), W_OK) == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("{}: {}; the aggregator's user must be able to write it", path, std::strerror(errno)));
}

}  // namespace

absl::StatusOr<Authority> ReadAuthority(const std::string& folder, const std::string& trusted_pem) {
  const std::string certificate_path = folder + "/ca.pem", key_path = folder + "/ca.key";
  ASSIGN_OR_RETURN(const std::string certificate_pem, config::ReadPem(certificate_path));
  ASSIGN_OR_RETURN(const std::string key_pem, config::ReadPem(key_path));
  Authority authority;
  authority.pair = certificates::PairOf(certificate_pem, key_pem);
  if (authority.pair.key == nullptr) {
    return absl::InvalidArgumentError(
        fmt::format("{} and {} are not a certificate and its key", certificate_path, key_path));
  }
  RETURN_IF_ERROR(CheckKeyIsPrivate(key_path));
  for (const std::string& path :
       {certificate_path, key_path, folder + "/" + certificates::IssueRecord::kFile}) {
    RETURN_IF_ERROR(config::CheckWriters(path, "make certificates"));
  }
  const std::vector<config::Certificate> trusted = config::CertificatesIn(trusted_pem);
  if (std::ranges::none_of(trusted, [&](const config::Certificate& each) {
        return X509_cmp(each.get(), authority.pair.certificate.get()) == 0;
      })) {
    return absl::InvalidArgumentError(fmt::format(
        "{}: is not in the ca of [tls], so nobody could connect with its certificates", certificate_path));
  }
  ASSIGN_OR_RETURN(authority.record, certificates::IssueRecord::Read(folder));
  RETURN_IF_ERROR(CheckRecordGrows(folder));
  return authority;
}

}  // namespace tributary::join
