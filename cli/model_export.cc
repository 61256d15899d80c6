#include "cli/model_export.h"

#include <iostream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/encoder_onnx.h"
#include "core/nn/encoder_file.h"
#include "core/runtime/file.h"

namespace tributary {
namespace {

struct Arguments {
  std::string model, onnx;
};

absl::Status Export(const Arguments& arguments) {
  const auto file = ReadFile(arguments.model);
  if (!file.ok()) return file.status();
  const auto encoder = DecodeEncoder(*file);
  if (!encoder.ok()) {
    return absl::Status(encoder.status().code(),
                        absl::StrCat(arguments.model, ": ", encoder.status().message()));
  }
  const auto onnx = EncodeOnnx(*encoder);
  if (!onnx.ok()) return onnx.status();
  return WriteFileAtomically(arguments.onnx, *onnx);
}

}  // namespace

void AddModelExportCommand(CLI::App& parent, int& exit_code) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = parent.add_subcommand("export", "Write an encoder in another format");
  command->add_option("model", arguments->model, "Encoder file (safetensors)")->required();
  command->add_option("--onnx", arguments->onnx, "ONNX file to write: uint8 images in, features out")
      ->required();
  command->callback([arguments, &exit_code] {
    if (const absl::Status status = Export(*arguments); !status.ok()) {
      std::cerr << "tributary model export: " << status.message() << "\n";
      exit_code = 1;
    }
  });
}

}  // namespace tributary
