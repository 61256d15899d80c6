#include <iostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/model/encoder_onnx.h"
#include "cli/model/model_source.h"
#include "core/nn/encoder/encoder_file.h"
#include "core/parameters/safetensors.h"
#include "core/runtime/file.h"

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

void AddModelExportCommand(Commands& model) {
  auto [command, arguments] =
      model.Add<ModelExportArguments>("export", "Write a model for use elsewhere", Export);
  command.Connection(arguments.connection);
  command.Text("model", arguments.model, kModelSourceType, kModelSourceHelp)->required();
  command.Text("--onnx", arguments.onnx, "FILE", "ONNX file to write: uint8 images in, features out");
  command.Text("--safetensors", arguments.safetensors, "FILE", "safetensors file to write, with metadata");
  command.Examples(kModelExportExamples);
}

}  // namespace tributary::cli
