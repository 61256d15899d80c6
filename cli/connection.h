// How a command reaches an aggregator.
#pragma once

#include <grpcpp/channel.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/config/tls.h"

namespace tributary::cli {

struct ConnectionArguments {
  std::string aggregator = "127.0.0.1:7400";
  config::TlsFiles tls = {};
};

// Nothing if no file is given. Errors: as LoadTls; a UsageError if only some of the three files are given.
absl::StatusOr<std::optional<config::TlsMaterial>> LoadClientTls(const config::TlsFiles& files);

// Errors: as LoadClientTls.
absl::StatusOr<std::shared_ptr<grpc::Channel>> Connect(const ConnectionArguments& arguments);

}  // namespace tributary::cli
