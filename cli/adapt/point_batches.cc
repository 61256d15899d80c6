#include "cli/adapt/point_batches.h"

#include <algorithm>

#include "core/nn/positioning/positioning_inference.h"

namespace tributary::cli {
PointBatches::PointBatches(const LabelledPoints& points, const scene::RoomPlan& plan,
                           const Mountings& mountings, const nn::PositioningNetwork& network,
                           const recordings::SnapshotAugmentation& augmentation, std::uint64_t seed)
    : points_(points), standardisation_(network), augmentation_(augmentation), random_(seed) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t panel = 0; panel < points.walls.size(); ++panel) {
      const auto nominal = scene::ToPanelFrame(plan, points.walls[panel], points.positions[i]);
      labels_.push_back(scene::ToTrueFrame(mountings[panel], nominal));
    }
  }
}

void PointBatches::Fill(std::span<float> features, std::span<float> targets) {
  for (std::size_t i = 0; i < targets.size() / 2; ++i) {
    const std::size_t example = random_.Below(labels_.size());
    const std::size_t panels = points_.walls.size();
    const nn::FeatureSpan sample(features.data() + i * nn::PositioningNetwork::kInputs,
                                 nn::PositioningNetwork::kInputs);
    std::ranges::copy(points_.Features(example / panels, example % panels), sample.begin());
    recordings::AugmentSnapshot(augmentation_, random_, sample);
    nn::AlignPhase(standardisation_.alignment, sample);
    nn::Standardise(standardisation_, sample);
    targets[2 * i] = static_cast<float>(labels_[example].x);
    targets[2 * i + 1] = static_cast<float>(labels_[example].y);
  }
}

}  // namespace tributary::cli
