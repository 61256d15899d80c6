#include "cli/model/model_source.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/failure.h"
#include "core/link/federation_calls.h"
#include "core/nn/modulation/modulation_network.h"
#include "core/nn/positioning/positioning_network.h"
#include "core/parameters/safetensors.h"
#include "core/runtime/file.h"
#include "core/status/context.h"
#include "core/status/macros.h"
#include "core/wire/federation_task.h"
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

absl::StatusOr<ModelFile> Fetch(const v1::ReadModelRequest& request, const ConnectionArguments& connection) {
  ASSIGN_OR_RETURN(const auto channel, Connect(connection));
  grpc::ClientContext context;
  SetDeadline(context, std::chrono::seconds(300));
  const auto stub = v1::ModelService::NewStub(channel);
  const auto reader = stub->ReadModel(&context, request);
  ModelFile source;
  v1::ReadModelResponse response;
  std::uint64_t file_bytes = 0;
  absl::Status fault;
  while (fault.ok() && reader->Read(&response)) {
    if (source.bytes.empty()) {
      source.origin = {response.model().run(), response.model().round()};
      file_bytes = response.model().file_bytes();
    }
    fault = file_bytes > wire::kMaxModelBytes
                ? absl::DataLossError(fmt::format("a model of {} bytes, at most {} expected", file_bytes,
                                                  wire::kMaxModelBytes))
                : link::AppendChunk(response.bytes(), response.offset(), response.crc32c(), file_bytes,
                                    source.bytes);
  }
  if (!fault.ok()) context.TryCancel();
  const grpc::Status status = reader->Finish();
  if (fault.ok() && !status.ok()) return FromPeer(status, connection);
  if (fault.ok()) fault = link::MustBeWhole(source.bytes, file_bytes);
  RETURN_IF_ERROR(FromPeer(fault, connection));
  return source;
}

std::vector<std::filesystem::path> ModelFolders() {
  std::vector<std::filesystem::path> folders;
  if (const char* folder = std::getenv("TRIBUTARY_MODEL_DIR")) folders.emplace_back(folder);
  folders.emplace_back("models");
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  // build/<preset>/bin/tributary lies three folders below the source tree.
  auto above = program.parent_path();
  for (int level = 0; level < 3 && !error && above.has_relative_path(); ++level) {
    above = above.parent_path();
    folders.push_back(above / "models");
  }
  folders.emplace_back("/usr/share/tributary/models");
  return folders;
}

}  // namespace

bool IsOfARun(std::string_view source) { return source.starts_with(kRunPrefix); }

absl::StatusOr<ModelFile> ReadModelSource(const std::string& source, const ConnectionArguments& connection) {
  if (!IsOfARun(source)) {
    ASSIGN_OR_RETURN(std::string file, runtime::ReadFile(source));
    return ModelFile{std::move(file)};
  }
  ASSIGN_OR_RETURN(const v1::ReadModelRequest request,
                   RequestOf(std::string_view(source).substr(kRunPrefix.size())));
  return Fetch(request, connection);
}

absl::StatusOr<parameters::TensorSet> ReadDescribedModel(const std::string& source,
                                                         const ConnectionArguments& connection) {
  ASSIGN_OR_RETURN(const ModelFile file, ReadModelSource(source, connection));
  ASSIGN_OR_RETURN(parameters::TensorSet set, WithContext(source, parameters::DecodeSafetensors(file.bytes)));
  exchange::Describe(set, file.origin);
  return set;
}

absl::StatusOr<std::string> FindModelFile(const std::string& given, std::string_view shipped) {
  if (!given.empty()) return given;
  std::vector<std::string> tried;
  for (const auto& folder : ModelFolders()) {
    const auto path = folder / shipped;
    std::error_code error;
    if (std::filesystem::is_regular_file(path, error)) return path.string();
    tried.push_back(path.string());
  }
  return absl::NotFoundError(absl::StrCat("no model file; looked for ", absl::StrJoin(tried, ", ")));
}

absl::StatusOr<LoadedPositioningModel> LoadPositioningModel(const std::string& given) {
  ASSIGN_OR_RETURN(std::string path, FindModelFile(given, "positioning.safetensors"));
  ASSIGN_OR_RETURN(const std::string file, runtime::ReadFile(path));
  ASSIGN_OR_RETURN(nn::PositioningNetwork network, WithContext(path, nn::DecodePositioning(file)));
  return LoadedPositioningModel{std::move(path), std::move(network)};
}

absl::StatusOr<LoadedModulationModel> LoadModulationModel(const std::string& given) {
  ASSIGN_OR_RETURN(std::string path, FindModelFile(given, "modulation.safetensors"));
  ASSIGN_OR_RETURN(const std::string file, runtime::ReadFile(path));
  ASSIGN_OR_RETURN(nn::ModulationNetwork network, WithContext(path, nn::DecodeModulation(file)));
  return LoadedModulationModel{std::move(path), std::move(network)};
}

}  // namespace tributary::cli
