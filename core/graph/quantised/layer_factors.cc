#include "core/graph/quantised/layer_factors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "core/status/macros.h"

namespace tributary::graph {
namespace {

absl::Status TooFar(absl::string_view reason) { return absl::InvalidArgumentError(reason); }

}  // namespace

absl::Status SetFactors(const LayerReals& reals, const Quantisation& from, const Quantisation& to,
                        double residual_scale, QuantisedLayer& layer) {
  const std::int64_t reach = std::max(from.highest() - from.zero_point, from.zero_point - from.lowest());
  const std::size_t channels = std::max(reals.units.size(), std::max<std::size_t>(layer.bias.size(), 1));
  const std::size_t each = channels == 0 ? 0 : layer.weights.size() / channels;
  for (std::size_t c = 0; c < channels; ++c) {
    const double unit = reals.units[reals.units.size() == 1 ? 0 : c];
    double between = 0;  // of a bias: what is left of it between two steps of the sums
    std::int64_t most = layer.kind == LayerKind::kAveragePool ? layer.window.taps() * reach : reach;
    if (layer.kind == LayerKind::kConvolution) {
      most = 0;
      for (std::size_t i = 0; i < each; ++i) most += std::abs(layer.weights[c * each + i]) * reach;
      if (!reals.bias.empty()) {
        const double bias = std::nearbyint(reals.bias[c] / unit);
        between = std::abs(reals.bias[c] / unit - bias);
        if (!(std::abs(bias) < static_cast<double>(kMostSum))) return TooFar("a bias is too large");
        layer.bias[c] = static_cast<std::int32_t>(bias);
        most += std::abs(layer.bias[c]);
      }
    }
    if (most >= kMostSum) return TooFar(fmt::format("its sums reach {}", most));
    const double real = unit / to.scale;
    ASSIGN_OR_RETURN(const Factor factor, FactorOf(real));
    // What is left moves the result by no more than half a step.
    if (between * real > 0.5) return TooFar("the bias is finer than the sums");
    const double residual = std::nearbyint(std::ldexp(residual_scale / to.scale, factor.shift));
    constexpr std::int64_t kMostResidual = 255;
    const double scaled = static_cast<double>(most) * factor.mantissa + residual * kMostResidual;
    if (!(scaled < static_cast<double>(kMostScaled)) || !(std::ldexp(scaled, -factor.shift) < 0x1p30)) {
      return TooFar("the scales of its operands and its result are too far apart");
    }
    layer.factors.push_back(factor);
    if (layer.residual != kAbsent) layer.residual_mantissas.push_back(static_cast<std::int64_t>(residual));
  }
  return absl::OkStatus();
}

}  // namespace tributary::graph
