#include "cli/connection.h"

#include <optional>

#include "cli/failure.h"
#include "core/uplink/channel.h"

namespace tributary {

void AddConnectionOptions(CLI::App& command, ConnectionArguments& arguments) {
  command.add_option("--aggregator", arguments.aggregator, "Where the aggregator listens")
      ->type_name("HOST:PORT")
      ->envname("TRIBUTARY_AGGREGATOR")
      ->capture_default_str();
  command.add_option("--certificate", arguments.tls.certificate, "For mutual TLS: this client's certificate")
      ->type_name("FILE")
      ->envname("TRIBUTARY_CERTIFICATE");
  command.add_option("--key", arguments.tls.key, "For mutual TLS: its key")
      ->type_name("FILE")
      ->envname("TRIBUTARY_KEY");
  command.add_option("--ca", arguments.tls.ca, "For mutual TLS: whom to trust")
      ->type_name("FILE")
      ->envname("TRIBUTARY_CA");
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> Connect(const ConnectionArguments& arguments) {
  const TlsFiles& files = arguments.tls;
  const int given = !files.certificate.empty() + !files.key.empty() + !files.ca.empty();
  if (given == 0) return MakeChannel(arguments.aggregator, std::nullopt);
  if (given < 3) return UsageError("--certificate, --key and --ca must be given together");
  absl::StatusOr<TlsMaterial> tls = LoadTls(files);
  if (!tls.ok()) return tls.status();
  return MakeChannel(arguments.aggregator, *std::move(tls));
}

}  // namespace tributary
