#include "core/nn/encoder/encoder_metadata.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace tributary::nn {
namespace {

constexpr EncoderNorm kNorms[] = {EncoderNorm::kBatch, EncoderNorm::kFilterResponse, EncoderNorm::kNone};
constexpr EncoderActivation kActivations[] = {EncoderActivation::kRelu, EncoderActivation::kHardClip};

const char* NameOf(EncoderNorm norm) {
  if (norm == EncoderNorm::kNone) return "none";
  return norm == EncoderNorm::kBatch ? "batch" : "filter_response";
}

const char* NameOf(EncoderActivation activation) {
  return activation == EncoderActivation::kRelu ? "relu" : "hard_clip";
}

}  // namespace

void PutEncoderOptions(const EncoderOptions& options, parameters::TensorSet& set) {
  set.metadata["side"] = std::to_string(options.side);
  set.metadata["input_channels"] = std::to_string(options.input_channels);
  set.metadata["channels"] = fmt::format("{}", fmt::join(options.channels, ","));
  set.metadata["grid"] = std::to_string(options.grid);
  set.metadata["norm"] = std::string(NameOf(options.norm));
  set.metadata["activation"] = std::string(NameOf(options.activation));
  set.metadata["quantised"] = std::string(options.quantised ? "1" : "0");
}

EncoderOptions MetadataReader::Encoder() {
  EncoderOptions options;
  options.side = Number("side");
  // Files of the releases before have grey images and do not say so.
  if (set_.metadata.contains("input_channels")) options.input_channels = Number("input_channels");
  options.channels.clear();
  const std::vector<std::string> channels = absl::StrSplit(std::string(Text("channels")), ',');
  for (const std::string& text : channels) options.channels.push_back(Parse("channels", text));
  options.grid = Number("grid");
  options.norm = Choice("norm", kNorms);
  options.activation = Choice("activation", kActivations);
  options.quantised = Number("quantised") != 0;
  return options;
}

void MetadataReader::ExpectFormat(std::string_view format) {
  if (Text("format") != format) Fail("format", fmt::format("is not \"{}\"", format));
}

std::size_t MetadataReader::Number(std::string_view key) { return Parse(key, Text(key)); }

std::string_view MetadataReader::Text(std::string_view key) {
  const auto entry = set_.metadata.find(key);
  if (entry != set_.metadata.end()) return entry->second;
  Fail(key, "is missing");
  return "";
}

std::size_t MetadataReader::Parse(std::string_view key, std::string_view text) {
  std::size_t value = 0;
  if (!absl::SimpleAtoi(absl::string_view(text.data(), text.size()), &value)) Fail(key, "is not a number");
  return value;
}

template <class Value, std::size_t count>
Value MetadataReader::Choice(std::string_view key, const Value (&values)[count]) {
  const std::string_view text = Text(key);
  for (const Value value : values) {
    if (NameOf(value) == text) return value;
  }
  Fail(key, "has an unknown value");
  return values[0];
}

void MetadataReader::Fail(std::string_view key, std::string_view what) {
  status_.Update(absl::InvalidArgumentError(fmt::format("metadata \"{}\" {}", key, what)));
}

}  // namespace tributary::nn
