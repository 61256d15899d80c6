#include "cli/model/model_export.h"

#include <iostream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/connection.h"
#include "cli/failure.h"
#include "cli/model/encoder_onnx.h"
#include "cli/model/model_source.h"
#include "core/nn/encoder/encoder_file.h"
#include "core/parameters/safetensors.h"
#include "core/runtime/file.h"
#include "core/runtime/service.h"

namespace tributary::cli {
namespace {

constexpr const char* kModelExportExamples = R"(Examples:
  tributary model export encoder.safetensors --onnx encoder.onnx
  tributary model export run:letters --onnx encoder.onnx              the present model of a run
  tributary model export run:letters@12 --safetensors round12.safetensors

Both files say what they are: run, round, digest of the parameters, what goes in and what comes out. See them with
"tributary model inspect FILE".)";

struct ModelExportArguments {
  ConnectionArguments connection;
  std::string model, onnx, safetensors;
};

// What was written, so that a script's log says it.
absl::Status Write(const std::string& path, const std::string& content) {
  absl::Status status = WriteOutput(path, content);
  if (status.ok()) std::cout << path << ": " << content.size() << " bytes\n";
  return status;
}

absl::Status WriteOnnx(const ModelExportArguments& arguments, const parameters::TensorSet& set) {
  const auto encoder = nn::EncoderFromTensors(set);
  if (!encoder.ok()) {
    return absl::Status(encoder.status().code(),
                        absl::StrCat(arguments.model,
                                     ": only encoders can be written as ONNX: ", encoder.status().message()));
  }
  const auto onnx = EncodeOnnx(*encoder, set.metadata);
  if (!onnx.ok()) return onnx.status();
  return Write(arguments.onnx, *onnx);
}

absl::Status Export(const ModelExportArguments& arguments) {
  if (arguments.onnx.empty() && arguments.safetensors.empty()) {
    return UsageError("--onnx or --safetensors must be given");
  }
  const auto set = ReadDescribedModel(arguments.model, arguments.connection);
  if (!set.ok()) return set.status();
  absl::Status status;
  if (!arguments.safetensors.empty()) status = Write(arguments.safetensors, EncodeSafetensors(*set));
  if (status.ok() && !arguments.onnx.empty()) status = WriteOnnx(arguments, *set);
  return status;
}

}  // namespace

void AddModelExportCommand(CLI::App& parent, int& exit_code) {
  auto arguments = std::make_shared<ModelExportArguments>();
  CLI::App* command = parent.add_subcommand("export", "Write a model for use elsewhere");
  AddConnectionOptions(*command, arguments->connection);
  command->add_option("model", arguments->model, kModelSourceHelp)->required();
  command->add_option("--onnx", arguments->onnx, "ONNX file to write: uint8 images in, features out")
      ->type_name("FILE");
  command->add_option("--safetensors", arguments->safetensors, "Parameters with metadata")->type_name("FILE");
  command->footer(kModelExportExamples);
  command->callback([arguments, &exit_code] {
    const absl::Status status = Export(*arguments);
    exit_code = status.ok() ? runtime::kExitOk : ReportFailure("model export", status);
  });
}

}  // namespace tributary::cli
