#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/model/model_source.h"
#include "cli/number_formats.h"
#include "cli/offline/recognise_bursts.h"
#include "core/nn/positioning/positioning_inference.h"
#include "core/parameters/npy.h"
#include "core/runtime/file.h"
#include "core/status/context.h"
#include "core/status/macros.h"
#include "node/accelerator/create.h"

namespace tributary::cli {
namespace {

constexpr std::size_t kInferenceBatch = 64;

struct InferArguments {
  std::string model;
  std::string features;
  std::string iq;
  std::string out;
  fpga::NumberFormat format = fpga::NumberFormat::kFloat;
};

absl::StatusOr<parameters::NpyArray> ReadFeatures(const std::string& path) {
  ASSIGN_OR_RETURN(const auto file, runtime::ReadFile(path, std::size_t{16} << 30));
  ASSIGN_OR_RETURN(parameters::NpyArray array, WithContext(path, parameters::DecodeNpy(file)));
  if (array.shape.size() != 2 || array.shape[1] != nn::PositioningNetwork::kInputs) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": the array is not [n, ", nn::PositioningNetwork::kInputs, "]"));
  }
  const auto bad = std::ranges::find_if(array.values, [](float v) { return !std::isfinite(v); });
  if (bad != array.values.end()) {
    const auto index = static_cast<std::size_t>(bad - array.values.begin());
    return absl::InvalidArgumentError(absl::StrCat(path, ": not finite at row ",
                                                   index / nn::PositioningNetwork::kInputs, ", column ",
                                                   index % nn::PositioningNetwork::kInputs));
  }
  return array;
}

absl::Status LocateUsers(const InferArguments& arguments) {
  ASSIGN_OR_RETURN(const auto model, LoadPositioningModel(arguments.model));
  ASSIGN_OR_RETURN(const auto features, ReadFeatures(arguments.features));
  ASSIGN_OR_RETURN(const auto accelerator,
                   accelerator::CreateAccelerator({.format = arguments.format, .max_batch = kInferenceBatch},
                                                  model.network));

  const std::size_t count = features.shape[0];
  std::vector<float> results(count * nn::kGaussianOutputs);
  std::array<float, kInferenceBatch * nn::kGaussianOutputs> outputs;
  for (std::size_t first = 0; first < count; first += kInferenceBatch) {
    const std::size_t size = std::min(kInferenceBatch, count - first);
    const auto batch =
        std::span(features.values)
            .subspan(first * nn::PositioningNetwork::kInputs, size * nn::PositioningNetwork::kInputs);
    const auto batch_outputs = std::span(outputs).first(size * nn::kGaussianOutputs);
    RETURN_IF_ERROR(accelerator->Infer(batch, size, batch_outputs));
    for (std::size_t i = 0; i < size; ++i) {
      const nn::GaussianPosition position = PositionFromOutputs(
          model.network, batch_outputs.subspan(i * nn::kGaussianOutputs, nn::kGaussianOutputs));
      const auto rest = std::ranges::copy(position.mean, &results[(first + i) * nn::kGaussianOutputs]).out;
      std::ranges::copy(position.cholesky, rest);
    }
  }
  const std::array<std::uint64_t, 2> shape = {count, nn::kGaussianOutputs};
  return WriteOutput(arguments.out, parameters::EncodeNpy(shape, results));
}

absl::Status Infer(const InferArguments& arguments) {
  if (arguments.features.empty() == arguments.iq.empty()) {
    return UsageError("give either --features or --iq");
  }
  RETURN_IF_ERROR(CheckOutput(arguments.out, {arguments.features, arguments.iq, arguments.model}));
  return arguments.iq.empty()
             ? LocateUsers(arguments)
             : RecogniseBursts(arguments.model, arguments.iq, arguments.format, arguments.out);
}

}  // namespace

void AddInferCommand(Commands& program) {
  auto [command, arguments] =
      program.Add<InferArguments>("infer", "Run a positioning or modulation model on a file", Infer);
  command.Text("--model", arguments.model, "FILE", "Model file; default: the shipped model");
  command.Text("--features", arguments.features, "FILE",
               ".npy file for a positioning model: float32 [n, 1024] raw features of one panel");
  command.Text(
      "--iq", arguments.iq, "FILE",
      ".npy file for a modulation model: float32 [n, 2, 128] bursts, I before Q, of any power; or a SigMF "
      "recording, NAME.sigmf-meta, which is cut every 128 samples");
  command.Text("--out", arguments.out, "FILE", ".npy file to write")->required();
  command.Choice("--format", arguments.format, NumberFormatWords(), "Number format");
  command.Examples(
      "Examples:\n"
      "  tributary infer --features panel.npy --out positions.npy --format int8_16\n"
      "  tributary infer --iq bursts.npy --out classes.npy\n\n"
      "--features writes float32 [n, 5]: mean x, y and Cholesky factor l11, l21, l22 in the panel's frame, "
      "m.\n"
      "--iq writes float32 [n, 10]: log-probabilities in the order of the model's metadata \"classes\", "
      "which\n"
      "`tributary model inspect` shows.");
}

}  // namespace tributary::cli
