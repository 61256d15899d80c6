// Which images each of several nodes gets. Seeded: every node computes the whole split and takes its part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

namespace tributary::images {

enum class ImageSplit {
  kIid,        // dealt at random, equal numbers (± 1)
  kShard,      // sorted by label, cut into two shards per node, dealt out (McMahan et al., 2017)
  kDirichlet,  // per class: node shares of each class are drawn from Dirichlet(concentration)
};

struct ImageSplitOptions {
  ImageSplit kind = ImageSplit::kIid;
  std::size_t nodes = 1;
  // Draws per class, not per client as [Hsu19] does. Per-client draws would give all nodes equal totals and
  // leave some images of a finite set over. Per-class draws give every image to exactly one node, with
  // different totals.
  double concentration = 0.5;
  std::uint64_t seed = 1;
};

// Ascending indices of each node's images; every image belongs to exactly one node. A Dirichlet split is
// drawn again (at most 100 times) until each node has an image. Errors: InvalidArgument for no node, fewer
// images than nodes (shards: than two per node), a concentration that is not positive, or missing labels
// where the split needs them.
absl::StatusOr<std::vector<std::vector<std::uint32_t>>> SplitImages(std::size_t count,
                                                                    std::span<const std::uint8_t> labels,
                                                                    const ImageSplitOptions& options);

}  // namespace tributary::images
