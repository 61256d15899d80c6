#include "aggregator/learning/run/update_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "absl/strings/ascii.h"
#include "core/status/macros.h"

namespace tributary::learning {
namespace {

// Long enough for host names; short enough for labels and file names.
constexpr std::size_t kMaxName = 128;
constexpr std::size_t kMaxContributors = 65'536;

// Shown, never computed with. NaN and infinity must not reach a table or a metric.
double Shown(double value) { return std::isfinite(value) ? value : 0; }

}  // namespace

absl::Status CheckName(std::string_view field, const std::string& name) {
  if (name.empty() || name.size() > kMaxName) {
    return absl::InvalidArgumentError(
        fmt::format("{}: {} bytes, expected 1 to {}", field, name.size(), kMaxName));
  }
  if (std::ranges::any_of(name, [](char c) { return absl::ascii_iscntrl(static_cast<unsigned char>(c)); })) {
    return absl::InvalidArgumentError(fmt::format("{}: control characters are not allowed", field));
  }
  return absl::OkStatus();
}

absl::StatusOr<parameters::Sha256> Bytes32FromWire(std::string_view field, const std::string& bytes) {
  parameters::Sha256 result{};
  if (bytes.size() != result.size()) {
    return absl::InvalidArgumentError(fmt::format("{}: {} bytes, expected 32", field, bytes.size()));
  }
  std::memcpy(result.data(), bytes.data(), result.size());
  return result;
}

std::optional<parameters::UpdateEncoding> EncodingFromWire(int encoding) {
  if (encoding < v1::UPDATE_ENCODING_FLOAT32 || encoding > v1::UPDATE_ENCODING_FIXED32) return std::nullopt;
  return static_cast<parameters::UpdateEncoding>(encoding);
}

absl::StatusOr<SubmissionHeader> HeaderFromWire(const v1::UpdateHeader& wire) {
  RETURN_IF_ERROR(CheckName("header.node", wire.node()));
  SubmissionHeader header;
  header.round = wire.round();
  header.node = wire.node();
  ASSIGN_OR_RETURN(header.schema, Bytes32FromWire("header.schema_sha256", wire.schema_sha256()));
  ASSIGN_OR_RETURN(header.base_model, Bytes32FromWire("header.base_model_sha256", wire.base_model_sha256()));
  const std::optional<parameters::UpdateEncoding> encoding = EncodingFromWire(wire.encoding());
  if (!encoding) {
    return absl::InvalidArgumentError(
        fmt::format("header.encoding: {} is not known here", static_cast<int>(wire.encoding())));
  }
  header.encoding = *encoding;
  header.element_count = wire.element_count();
  header.sample_count = wire.sample_count();
  header.metrics = {Shown(wire.metrics().loss()), Shown(wire.metrics().spread()),
                    Shown(wire.metrics().seconds()), wire.metrics().steps()};
  if (static_cast<std::size_t>(wire.contributors_size()) > kMaxContributors) {
    return absl::InvalidArgumentError(fmt::format("header.contributors: {} of them, at most {} are allowed",
                                                  wire.contributors_size(), kMaxContributors));
  }
  for (const v1::Contributor& each : wire.contributors()) {
    RETURN_IF_ERROR(CheckName("header.contributors.node", each.node()));
    header.contributors.push_back({each.node(), each.sample_count()});
  }
  return header;
}

v1::UpdateHeader HeaderToWire(const SubmissionHeader& header) {
  v1::UpdateHeader wire;
  wire.set_round(header.round);
  wire.set_node(header.node);
  wire.set_schema_sha256(parameters::BytesOf(header.schema));
  wire.set_base_model_sha256(parameters::BytesOf(header.base_model));
  wire.set_encoding(static_cast<v1::UpdateEncoding>(header.encoding));
  wire.set_element_count(header.element_count);
  wire.set_sample_count(header.sample_count);
  v1::UpdateMetrics& metrics = *wire.mutable_metrics();
  metrics.set_loss(header.metrics.loss);
  metrics.set_spread(header.metrics.spread);
  metrics.set_seconds(header.metrics.seconds);
  metrics.set_steps(header.metrics.steps);
  for (const Contribution& each : header.contributors) {
    v1::Contributor& contributor = *wire.add_contributors();
    contributor.set_node(each.node);
    contributor.set_sample_count(each.sample_count);
  }
  return wire;
}

}  // namespace tributary::learning
