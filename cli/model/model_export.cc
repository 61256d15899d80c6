#include <iostream>
#include <string>

#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/model/labelled_place.h"
#include "cli/model/model_source.h"
#include "core/exchange/onnx_file.h"
#include "core/nn/encoder/classifier_file.h"
#include "core/nn/encoder/encoder_file.h"
#include "core/parameters/safetensors.h"
#include "core/runtime/file.h"
#include "core/runtime/printable.h"
#include "core/status/context.h"
#include "core/status/macros.h"

namespace tributary::cli {
namespace {

constexpr const char* kModelExportExamples = R"(Examples:
  tributary model export encoder.safetensors --onnx encoder.onnx
  tributary model export run:letters --onnx encoder.onnx              the present model of a run
  tributary model export run:letters@12 --safetensors round12.safetensors
  tributary model export run:letters --labels south-labels.idx.gz --onnx south.onnx

Both files say what they are: run, round, digest of the parameters, what goes in and what comes out. See them with
"tributary model inspect FILE".)";

struct ModelExportArguments {
  ConnectionArguments connection;
  std::string model, onnx, safetensors, labels;
};

// What was written, so that a script's log says it.
absl::Status Write(const std::string& path, const std::string& content) {
  RETURN_IF_ERROR(WriteOutput(path, content));
  std::cout << runtime::Printable(path) << ": " << content.size() << " bytes\n";
  return absl::OkStatus();
}

absl::Status WriteOnnx(const ModelExportArguments& arguments, const parameters::TensorSet& set) {
  if (const auto classifier = nn::ClassifierFromTensors(set); classifier.ok()) {
    ASSIGN_OR_RETURN(const std::string onnx,
                     WithContext(arguments.model, exchange::EncodeOnnx(*classifier, set.metadata)));
    return Write(arguments.onnx, onnx);
  }
  ASSIGN_OR_RETURN(const nn::EncoderFile encoder,
                   WithContext(arguments.model + ": only encoders and classifiers can be written as ONNX",
                               nn::EncoderFromTensors(set)));
  ASSIGN_OR_RETURN(const std::string onnx, exchange::EncodeOnnx(encoder, set.metadata));
  return Write(arguments.onnx, onnx);
}

absl::Status Export(const ModelExportArguments& arguments) {
  if (arguments.onnx.empty() && arguments.safetensors.empty()) {
    return UsageError("--onnx or --safetensors must be given");
  }
  for (const std::string& path : {arguments.onnx, arguments.safetensors}) RETURN_IF_ERROR(CheckOutput(path));
  ASSIGN_OR_RETURN(auto set, ReadDescribedModel(arguments.model, arguments.connection));
  if (!arguments.labels.empty()) {
    ASSIGN_OR_RETURN(set, FittedToLabels(set, arguments.model, arguments.labels));
  }
  if (!arguments.safetensors.empty()) {
    RETURN_IF_ERROR(Write(arguments.safetensors, parameters::EncodeSafetensors(set)));
  }
  return arguments.onnx.empty() ? absl::OkStatus() : WriteOnnx(arguments, set);
}

}  // namespace

void AddModelExportCommand(Commands& model) {
  auto [command, arguments] =
      model.Add<ModelExportArguments>("export", "Write a model for use elsewhere", Export);
  command.Connection(arguments.connection);
  command.Text("model", arguments.model, kModelSourceType, kModelSourceHelp)->required();
  command.Text("--onnx", arguments.onnx, "FILE",
               "ONNX file to write: uint8 images in, features or a classifier's logits out");
  command.Text(
      "--labels", arguments.labels, "FILE",
      "idx labels of the place where a classifier will be used: it expects each class as often as they "
      "have it; for runs whose client.head is adjusted or personal");
  command.Text("--safetensors", arguments.safetensors, "FILE", "safetensors file to write, with metadata");
  command.Examples(kModelExportExamples);
}

}  // namespace tributary::cli
