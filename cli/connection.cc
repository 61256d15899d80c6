#include "cli/connection.h"

#include <cstdio>
#include <optional>

#include "core/runtime/service.h"
#include "core/uplink/channel.h"

namespace tributary {

void AddConnectionOptions(CLI::App& command, ConnectionArguments& arguments) {
  command.add_option("--aggregator", arguments.aggregator, "Where the aggregator listens")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  command.add_option("--certificate", arguments.tls.certificate, "For mutual TLS: this client's certificate")
      ->type_name("FILE");
  command.add_option("--key", arguments.tls.key, "For mutual TLS: its key")->type_name("FILE");
  command.add_option("--ca", arguments.tls.ca, "For mutual TLS: whom to trust")->type_name("FILE");
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> Connect(const ConnectionArguments& arguments) {
  const TlsFiles& files = arguments.tls;
  const int given = !files.certificate.empty() + !files.key.empty() + !files.ca.empty();
  if (given == 0) return MakeChannel(arguments.aggregator, std::nullopt);
  if (given < 3) return absl::InvalidArgumentError("--certificate, --key and --ca must be given together");
  absl::StatusOr<TlsMaterial> tls = LoadTls(files);
  if (!tls.ok()) return tls.status();
  return MakeChannel(arguments.aggregator, *std::move(tls));
}

int ReportFailure(const char* command, const absl::Status& status) {
  std::fprintf(stderr, "tributary %s: %s\n", command, std::string(status.message()).c_str());
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return kExitUnavailable;
    case absl::StatusCode::kDataLoss:
      return kExitData;
    case absl::StatusCode::kInvalidArgument:
      return kExitUsage;
    default:
      return kExitFailure;
  }
}

}  // namespace tributary
