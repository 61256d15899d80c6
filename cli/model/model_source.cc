#include "cli/model/model_source.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <string_view>
#include <utility>

#include "cli/connection.h"
#include "cli/failure.h"
#include "core/parameters/crc32c.h"
#include "core/parameters/safetensors.h"
#include "core/runtime/file.h"
#include "tributary/v1/run.grpc.pb.h"

namespace tributary::cli {
namespace {

constexpr std::string_view kRunPrefix = "run:";

absl::StatusOr<v1::ReadModelRequest> RequestOf(std::string_view run) {
  v1::ReadModelRequest request;
  const std::size_t at = run.rfind('@');
  request.set_run(std::string(run.substr(0, at)));
  request.set_current(at == std::string_view::npos);
  if (request.current()) return request;
  const std::string_view digits = run.substr(at + 1);
  std::uint32_t round = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), round);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    return UsageError(fmt::format("\"{}\" is not the number of a round", digits));
  }
  request.set_round(round);
  return request;
}

struct SourceFile {
  std::string bytes;
  ModelOrigin origin;
};

absl::StatusOr<SourceFile> Fetch(const v1::ReadModelRequest& request, const ConnectionArguments& connection) {
  const auto channel = Connect(connection);
  if (!channel.ok()) return channel.status();
  grpc::ClientContext context;
  SetDeadline(context, std::chrono::seconds(300));
  const auto stub = v1::ModelService::NewStub(*channel);
  const auto reader = stub->ReadModel(&context, request);
  SourceFile source;
  std::string& file = source.bytes;
  v1::ReadModelResponse response;
  while (reader->Read(&response)) {
    if (response.has_model()) source.origin = {response.model().run(), response.model().round()};
    if (response.offset() != file.size() || response.crc32c() != parameters::Crc32c(response.bytes())) {
      context.TryCancel();
      return absl::DataLossError(fmt::format("{}: a chunk arrived damaged", connection.aggregator));
    }
    file += response.bytes();
  }
  const grpc::Status status = reader->Finish();
  if (!status.ok()) return FromPeer(status, connection);
  return source;
}

absl::StatusOr<SourceFile> Read(const std::string& source, const ConnectionArguments& connection) {
  if (!IsOfARun(source)) {
    absl::StatusOr<std::string> file = runtime::ReadFile(source);
    if (!file.ok()) return file.status();
    return SourceFile{*std::move(file), {}};
  }
  const auto request = RequestOf(std::string_view(source).substr(kRunPrefix.size()));
  if (!request.ok()) return request.status();
  return Fetch(*request, connection);
}

}  // namespace

bool IsOfARun(std::string_view source) { return source.starts_with(kRunPrefix); }

absl::StatusOr<std::string> ReadModelSource(const std::string& source,
                                            const ConnectionArguments& connection) {
  absl::StatusOr<SourceFile> file = Read(source, connection);
  if (!file.ok()) return file.status();
  return std::move(file->bytes);
}

absl::StatusOr<parameters::TensorSet> ReadDescribedModel(const std::string& source,
                                                         const ConnectionArguments& connection) {
  const absl::StatusOr<SourceFile> file = Read(source, connection);
  if (!file.ok()) return file.status();
  absl::StatusOr<parameters::TensorSet> set = parameters::DecodeSafetensors(file->bytes);
  if (!set.ok()) {
    return absl::Status(set.status().code(),
                        fmt::format("{}: {}", source, std::string(set.status().message())));
  }
  Describe(*set, file->origin);
  return set;
}

}  // namespace tributary::cli
