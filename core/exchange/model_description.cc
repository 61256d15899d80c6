#include "core/exchange/model_description.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "core/nn/encoder/classifier_file.h"
#include "core/nn/encoder/encoder_file.h"
#include "core/parameters/tensor.h"
#include "core/runtime/version.h"

namespace tributary::exchange {
namespace {

constexpr std::array<std::string_view, 18> kKeys = {
    "producer",   "name",       "version",       "parameters_sha256", "run",          "round",
    "input.name", "input.type", "input.layout",  "input.shape",       "input.colour", "input.scale",
    "input.mean", "input.std",  "preprocessing", "output.name",       "output.shape", "output.meaning"};

// Bounded, because a file's metadata is a peer's.
std::string Cleaned(std::string_view text) {
  constexpr std::size_t kMaxBytes = 4096;
  std::string clean;
  for (const char c : text.substr(0, kMaxBytes)) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) {
      clean += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      clean += c;
    }
  }
  return clean;
}

void DescribeImages(const nn::EncoderOptions& encoder, parameters::ModelMetadata& metadata) {
  metadata["input.name"] = "images";
  metadata["input.type"] = "uint8";
  metadata["input.layout"] = "NCHW";
  metadata["input.shape"] = fmt::format("N,{1},{0},{0}", encoder.side, encoder.input_channels);
  metadata["input.colour"] = encoder.input_channels == 1 ? "grey" : "RGB";
  metadata["input.scale"] = fmt::format("{}", nn::kPixelUnit);
  metadata["input.mean"] = "0";
  metadata["input.std"] = "1";
  metadata["preprocessing"] =
      "none: the model takes pixels from 0 to 255 and multiplies them by input.scale itself; no mean is "
      "subtracted, nothing is divided by a deviation";
}

void DescribeClassifier(const nn::ClassifierFile& classifier, parameters::ModelMetadata& metadata) {
  DescribeImages(classifier.encoder, metadata);
  if (classifier.classes == 0) return;  // the head is made where it is needed
  metadata["output.name"] = "logits";
  metadata["output.shape"] = fmt::format("N,{}", classifier.classes);
  metadata["output.meaning"] = "a logit for each label, from 0 on; a softmax makes probabilities of them";
}

void DescribeEncoder(const nn::EncoderOptions& encoder, parameters::ModelMetadata& metadata) {
  DescribeImages(encoder, metadata);
  metadata["output.name"] = "features";
  metadata["output.shape"] = fmt::format("N,{}", encoder.feature_count());
  metadata["output.meaning"] = fmt::format(
      "features, not classes: feature c * {0} + y * {1} + x is the mean of area (y, x) of channel c; {2} "
      "channels of {1} x {1} areas",
      encoder.grid * encoder.grid, encoder.grid, encoder.channels.back());
}

}  // namespace

void Describe(parameters::TensorSet& set, const ModelOrigin& origin) {
  parameters::ModelMetadata metadata;
  for (const auto& [key, value] : set.metadata) metadata[Cleaned(key)] = Cleaned(value);
  const std::string sha256 = parameters::HexOf(parameters::ParameterIdentity(set));
  const bool exported = metadata["parameters_sha256"] == sha256;
  std::string run = Cleaned(origin.run);
  std::string round = origin.round ? std::to_string(*origin.round) : "";
  if (run.empty() && exported) {
    run = metadata["run"];
    round = metadata["round"];
  }
  set.metadata = std::move(metadata);
  RemoveDescription(set);
  constexpr std::size_t kDigits = 12;
  set.metadata["producer"] = fmt::format("tributary {}", runtime::kVersion);
  set.metadata["name"] = run.empty() ? "model" : run;
  set.metadata["version"] = round.empty() ? sha256.substr(0, kDigits) : round;
  set.metadata["parameters_sha256"] = sha256;
  if (!run.empty()) set.metadata["run"] = run;
  if (!round.empty()) set.metadata["round"] = round;
  if (const auto encoder = nn::EncoderFromTensors(set); encoder.ok()) {
    DescribeEncoder(encoder->options.encoder, set.metadata);
  } else if (const auto classifier = nn::ClassifierFromTensors(set); classifier.ok()) {
    DescribeClassifier(*classifier, set.metadata);
  }
}

void RemoveDescription(parameters::TensorSet& set) {
  for (const std::string_view key : kKeys) set.metadata.erase(std::string(key));
}

}  // namespace tributary::exchange
