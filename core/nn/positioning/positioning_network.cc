#include "core/nn/positioning/positioning_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "absl/strings/str_cat.h"
#include "core/parameters/safetensors.h"
#include "core/status/macros.h"

namespace tributary::nn {
namespace {

constexpr auto kWidths = PositioningNetwork::kWidths;

constexpr Convention kPositioningConventions[] = {
    {"kind", "positioning"},
    {"format", "float32"},
    {"layers", "1024-200-relu-batch_norm-100-relu-20-relu-5, no biases, weights [outputs, inputs]"},
    {"input",
     "512 real parts (antenna-major, subcarrier-minor), 512 imaginary parts; unit: line-of-sight amplitude "
     "at 5 m"},
    {"outputs", "x,y,l11,l21,l22; m, panel frame"},
    {"diagonal", "softplus(raw) + 1e-5"},
    {"covariance", "L * transpose(L), L = covariance_scale * [[l11, 0], [l21, l22]]"},
};

constexpr std::string_view kNormalisation = "normalisation";

// In the order of PhaseAlignment.
constexpr std::array<std::string_view, 2> kNormalisations = {
    "rotate so that antenna 0, subcarrier 0 has phase 0; then (x - mean) * inverse_deviation",
    "rotate so that the plane wave fitted to all features has phase 0 at row 4, column 4, subcarrier 4; then "
    "(x - mean) * inverse_deviation"};

absl::StatusOr<PhaseAlignment> ReadAlignment(const parameters::TensorSet& set) {
  const std::string found = MetadataOf(set, kNormalisation);
  const auto known = std::ranges::find(kNormalisations, found);
  if (known != kNormalisations.end()) return static_cast<PhaseAlignment>(known - kNormalisations.begin());
  return absl::InvalidArgumentError(
      fmt::format("not a positioning model: metadata \"{}\" is \"{}\", expected \"{}\"", kNormalisation,
                  found, fmt::join(kNormalisations, "\" or \"")));
}

// Every tensor of the file and the member that holds it, for both directions.
template <class Network, class Visit>
void VisitPositioning(Network& network, Visit visit) {
  visit("input.mean", Shape{kWidths[0]}, network.input_mean);
  visit("input.inverse_deviation", Shape{kWidths[0]}, network.input_inverse_deviation);
  for (std::size_t l = 0; l < network.weights.size(); ++l) {
    visit(absl::StrCat("layer", l + 1, ".weight"), Shape{kWidths[l + 1], kWidths[l]}, network.weights[l]);
  }
  visit("batch_norm.scale", Shape{kWidths[1]}, network.batch_norm_scale);
  visit("batch_norm.shift", Shape{kWidths[1]}, network.batch_norm_shift);
  visit("calibration.covariance_scale", Shape{1}, std::span(&network.covariance_scale, 1));
  visit("calibration.activation_range", Shape{network.activation_range.size()},
        std::span(network.activation_range));
}

}  // namespace

parameters::TensorSet PositioningTensors(const PositioningNetwork& network) {
  parameters::TensorSet set;
  VisitPositioning(network, TensorWriter{set});
  WriteMetadata(kPositioningConventions, network, set);
  set.metadata.emplace(kNormalisation, kNormalisations[static_cast<std::size_t>(network.alignment)]);
  return set;
}

std::string EncodePositioning(const PositioningNetwork& network) {
  return parameters::EncodeSafetensors(PositioningTensors(network));
}

absl::StatusOr<PositioningNetwork> PositioningFromTensors(const parameters::TensorSet& set) {
  PositioningNetwork network;
  RETURN_IF_ERROR(ReadMetadata(set, kPositioningConventions, network));
  ASSIGN_OR_RETURN(network.alignment, ReadAlignment(set));
  absl::Status status;
  VisitPositioning(network, TensorReader{set, status});
  RETURN_IF_ERROR(status);
  if (!(network.covariance_scale > 0)) {
    return absl::InvalidArgumentError("calibration.covariance_scale is not positive");
  }
  return network;
}

absl::StatusOr<PositioningNetwork> DecodePositioning(std::string_view file) {
  ASSIGN_OR_RETURN(const parameters::TensorSet set, parameters::DecodeSafetensors(file));
  return PositioningFromTensors(set);
}

}  // namespace tributary::nn
