#include "cli/connection.h"

#include "cli/failure.h"
#include "core/link/channel.h"

namespace tributary::cli {

absl::StatusOr<std::optional<config::TlsMaterial>> LoadClientTls(const config::TlsFiles& files) {
  const int given = !files.certificate.empty() + !files.key.empty() + !files.ca.empty();
  if (given == 0) return std::nullopt;
  if (given < 3) return UsageError("--certificate, --key and --ca must be given together");
  absl::StatusOr<config::TlsMaterial> tls = config::LoadTls(files);
  if (!tls.ok()) return tls.status();
  return *std::move(tls);
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> Connect(const ConnectionArguments& arguments) {
  const absl::StatusOr<std::optional<config::TlsMaterial>> tls = LoadClientTls(arguments.tls);
  if (!tls.ok()) return tls.status();
  return link::MakeChannel(arguments.aggregator, *tls);
}

}  // namespace tributary::cli
