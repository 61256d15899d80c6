#include "core/images/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/nn/kernel/random_stream.h"

namespace tributary::images {
namespace {

using Parts = std::vector<std::vector<std::uint32_t>>;

std::vector<std::uint32_t> Shuffled(std::size_t count, nn::RandomStream& random) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  random.Shuffle(order);
  return order;
}

// The logarithm of a Gamma(shape, 1) draw (Marsaglia & Tsang, 2000): the draw itself would underflow for
// small shapes.
double LogGamma(double shape, nn::RandomStream& random) {
  const double boost = shape < 1 ? std::log(1.0 - random.Uniform()) / shape : 0.0;
  const double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * d);
  for (;;) {
    const double x = random.Normal();
    const double v = std::pow(1.0 + c * x, 3);
    if (v > 0 && std::log(1.0 - random.Uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) {
      return std::log(d * v) + boost;
    }
  }
}

std::vector<double> Dirichlet(std::size_t nodes, double concentration, nn::RandomStream& random) {
  std::vector<double> shares(nodes);
  for (double& share : shares) share = LogGamma(concentration, random);
  const double top = std::ranges::max(shares);
  double total = 0;
  for (double& share : shares) total += share = std::exp(share - top);
  for (double& share : shares) share /= total;
  return shares;
}

Parts DealEvenly(std::span<const std::uint32_t> order, std::size_t nodes) {
  Parts parts(nodes);
  for (std::size_t i = 0; i < order.size(); ++i) parts[i % nodes].push_back(order[i]);
  return parts;
}

Parts Shards(std::span<const std::uint8_t> labels, std::size_t nodes, nn::RandomStream& random) {
  std::vector<std::uint32_t> order = Shuffled(labels.size(), random);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return labels[i]; });
  const std::size_t shards = 2 * nodes;
  const std::vector<std::uint32_t> dealt = Shuffled(shards, random);
  Parts parts(nodes);
  for (std::size_t i = 0; i < shards; ++i) {
    const std::size_t first = order.size() * dealt[i] / shards, end = order.size() * (dealt[i] + 1) / shards;
    parts[i / 2].insert(parts[i / 2].end(), order.begin() + static_cast<std::ptrdiff_t>(first),
                        order.begin() + static_cast<std::ptrdiff_t>(end));
  }
  return parts;
}

Parts DirichletParts(std::span<const std::uint8_t> labels, std::size_t nodes, double concentration,
                     nn::RandomStream& random) {
  std::vector<std::vector<std::uint32_t>> classes(256);
  for (const std::uint32_t i : Shuffled(labels.size(), random)) classes[labels[i]].push_back(i);
  Parts parts(nodes);
  for (const std::vector<std::uint32_t>& members : classes) {
    if (members.empty()) continue;
    const std::vector<double> shares = Dirichlet(nodes, concentration, random);
    double reached = 0;
    std::size_t first = 0;
    for (std::size_t node = 0; node < nodes; ++node) {
      reached += shares[node];
      const auto rounded =
          static_cast<std::size_t>(std::lround(reached * static_cast<double>(members.size())));
      const std::size_t end = node + 1 == nodes ? members.size() : std::min(rounded, members.size());
      parts[node].insert(parts[node].end(), members.begin() + static_cast<std::ptrdiff_t>(first),
                         members.begin() + static_cast<std::ptrdiff_t>(end));
      first = end;
    }
  }
  return parts;
}

}  // namespace

absl::StatusOr<Parts> SplitImages(std::size_t count, std::span<const std::uint8_t> labels,
                                  const ImageSplitOptions& options) {
  const std::size_t least = options.kind == ImageSplit::kShard ? 2 * options.nodes : options.nodes;
  if (options.nodes == 0 || count < least) {
    return absl::InvalidArgumentError(
        fmt::format("{} images cannot be split over {} nodes", count, options.nodes));
  }
  if (options.kind != ImageSplit::kIid && labels.size() != count) {
    return absl::InvalidArgumentError("a shard or Dirichlet split needs a label for each image");
  }
  if (options.kind == ImageSplit::kDirichlet && !(options.concentration > 0)) {
    return absl::InvalidArgumentError("the concentration of a Dirichlet split must be positive");
  }
  nn::RandomStream random(options.seed);
  Parts parts;
  for (int draw = 0; draw < 100; ++draw) {
    switch (options.kind) {
      case ImageSplit::kIid:
        parts = DealEvenly(Shuffled(count, random), options.nodes);
        break;
      case ImageSplit::kShard:
        parts = Shards(labels, options.nodes, random);
        break;
      case ImageSplit::kDirichlet:
        parts = DirichletParts(labels, options.nodes, options.concentration, random);
        break;
    }
    if (std::ranges::any_of(parts, [](const auto& part) { return part.empty(); })) continue;
    for (auto& part : parts) std::ranges::sort(part);
    return parts;
  }
  return absl::InvalidArgumentError("a node gets no image: raise the concentration or take another seed");
}

}  // namespace tributary::images
