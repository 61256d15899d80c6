#include "cli/connection.h"

#include "cli/failure.h"
#include "core/link/channel.h"

namespace tributary::cli {

void AddConnectionOptions(CLI::App& command, ConnectionArguments& arguments) {
  command.add_option("--aggregator", arguments.aggregator, "Address of the aggregator")
      ->type_name("HOST:PORT")
      ->envname("TRIBUTARY_AGGREGATOR")
      ->capture_default_str();
  command
      .add_option("--certificate", arguments.tls.certificate, "Certificate of this client, for mutual TLS")
      ->type_name("FILE")
      ->envname("TRIBUTARY_CERTIFICATE");
  command.add_option("--key", arguments.tls.key, "Private key of that certificate")
      ->type_name("FILE")
      ->envname("TRIBUTARY_KEY");
  command
      .add_option("--ca", arguments.tls.ca, "Certificate of the CA that signed the aggregator's certificate")
      ->type_name("FILE")
      ->envname("TRIBUTARY_CA");
}

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
