#include "core/nn/encoder/encoder_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "core/parameters/safetensors.h"
#include "core/status/macros.h"

namespace tributary::nn {
namespace {

constexpr std::string_view kFormat = "tributary-encoder-1";
const std::map<std::string, EncoderNorm, std::less<>> kNorms = {
    {"batch", EncoderNorm::kBatch},
    {"filter_response", EncoderNorm::kFilterResponse},
    {"none", EncoderNorm::kNone}};
const std::map<std::string, EncoderActivation, std::less<>> kActivations = {
    {"relu", EncoderActivation::kRelu}, {"hard_clip", EncoderActivation::kHardClip}};

template <class Names, class Value>
std::string NameOf(const Names& names, Value value) {
  return std::ranges::find(names, value, &Names::value_type::second)->first;
}

// Reads metadata one entry after another and remembers the first fault.
class Metadata {
 public:
  explicit Metadata(const parameters::TensorSet& set) : set_(set) {}

  std::string Text(std::string_view key) {
    const auto entry = set_.metadata.find(key);
    if (entry != set_.metadata.end()) return entry->second;
    Fail(fmt::format("metadata \"{}\" is missing", key));
    return "";
  }
  std::size_t Number(std::string_view key) { return Parse(key, Text(key)); }
  std::vector<std::size_t> Numbers(std::string_view key) {
    std::vector<std::size_t> numbers;
    const std::vector<std::string> texts = absl::StrSplit(Text(key), ',');
    for (const std::string& text : texts) numbers.push_back(Parse(key, text));
    return numbers;
  }
  template <class Value>
  Value Choice(std::string_view key, const std::map<std::string, Value, std::less<>>& names) {
    const auto entry = names.find(Text(key));
    if (entry != names.end()) return entry->second;
    Fail(fmt::format("metadata \"{}\" has an unknown value", key));
    return names.begin()->second;
  }
  const absl::Status& status() const { return status_; }

 private:
  std::size_t Parse(std::string_view key, const std::string& text) {
    std::size_t value = 0;
    if (absl::SimpleAtoi(text, &value)) return value;
    Fail(fmt::format("metadata \"{}\" is not a number", key));
    return 0;
  }
  void Fail(const std::string& message) { status_.Update(absl::InvalidArgumentError(message)); }

  const parameters::TensorSet& set_;
  absl::Status status_;
};

}  // namespace

std::string EncodeEncoder(const SelfSupervisedTrainer& trainer) {
  parameters::TensorSet set = ToTensorSet(trainer.Schema(), trainer.parameters());
  const SelfSupervisedOptions& o = trainer.options();
  set.metadata = {{"format", std::string(kFormat)},
                  {"side", std::to_string(o.encoder.side)},
                  {"input_channels", std::to_string(o.encoder.input_channels)},
                  {"channels", fmt::format("{}", fmt::join(o.encoder.channels, ","))},
                  {"grid", std::to_string(o.encoder.grid)},
                  {"norm", NameOf(kNorms, o.encoder.norm)},
                  {"activation", NameOf(kActivations, o.encoder.activation)},
                  {"quantised", o.encoder.quantised ? "1" : "0"},
                  {"projection", std::to_string(o.projection)},
                  {"bottleneck", std::to_string(o.bottleneck)},
                  {"head_norm", o.head_norm ? "1" : "0"}};
  return parameters::EncodeSafetensors(set);
}

absl::StatusOr<EncoderFile> EncoderFromTensors(const parameters::TensorSet& set) {
  Metadata metadata(set);
  if (metadata.Text("format") != kFormat) {
    return absl::InvalidArgumentError(fmt::format("metadata \"format\" is not \"{}\"", kFormat));
  }
  EncoderFile result;
  EncoderOptions& encoder = result.options.encoder;
  encoder.side = metadata.Number("side");
  // Files of the releases before have grey images and do not say so.
  if (set.metadata.contains("input_channels")) encoder.input_channels = metadata.Number("input_channels");
  encoder.channels = metadata.Numbers("channels");
  encoder.grid = metadata.Number("grid");
  encoder.norm = metadata.Choice("norm", kNorms);
  encoder.activation = metadata.Choice("activation", kActivations);
  encoder.quantised = metadata.Number("quantised") != 0;
  result.options.projection = metadata.Number("projection");
  result.options.bottleneck = metadata.Number("bottleneck");
  result.options.head_norm = metadata.Number("head_norm") != 0;
  if (result.options.bottleneck == 0) result.options.method = SelfSupervisedMethod::kSimClr;
  RETURN_IF_ERROR(metadata.status());
  RETURN_IF_ERROR(Validate(result.options));
  ASSIGN_OR_RETURN(result.parameters, FlatParameters(SelfSupervisedSchema(result.options), set));
  RETURN_IF_ERROR(CheckFinite(result.parameters));
  return result;
}

absl::StatusOr<EncoderFile> DecodeEncoder(std::string_view file) {
  ASSIGN_OR_RETURN(const parameters::TensorSet set, parameters::DecodeSafetensors(file));
  return EncoderFromTensors(set);
}

}  // namespace tributary::nn
