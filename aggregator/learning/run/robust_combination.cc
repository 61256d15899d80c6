#include "aggregator/learning/run/robust_combination.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "aggregator/learning/run/update_file.h"

namespace tributary {
namespace {

absl::StatusOr<std::vector<float>> Load(const Store& store, const StoredUpdate& update, double clip_norm) {
  const SubmissionHeader& header = update.document.update.header;
  absl::StatusOr<CheckedReader> reader = store.Read(update.file);
  if (!reader.ok()) return reader.status();
  std::vector<float> delta(header.element_count);
  const bool scaled = clip_norm > 0 && update.document.norm > clip_norm;
  const auto factor = static_cast<float>(scaled ? clip_norm / update.document.norm : 1.0);
  absl::Status status =
      ReadUpdate(*reader, header.encoding, header.element_count,
                 [&](std::uint64_t offset, std::span<const float> values, std::span<const std::int32_t>) {
                   std::ranges::transform(values, delta.begin() + static_cast<std::ptrdiff_t>(offset),
                                          [factor](float value) { return value * factor; });
                   return absl::OkStatus();
                 });
  if (!status.ok()) return status;
  return delta;
}

}  // namespace

absl::Status CombineRobustly(const Strategy& strategy, const Store& store,
                             std::span<const StoredUpdate> updates, double clip_norm,
                             std::span<float> combined) {
  std::vector<std::vector<float>> deltas;
  std::vector<NodeUpdate> nodes;
  deltas.reserve(updates.size());  // the spans below point into them
  for (const StoredUpdate& update : updates) {
    absl::StatusOr<std::vector<float>> delta = Load(store, update, clip_norm);
    if (!delta.ok()) return delta.status();
    deltas.push_back(*std::move(delta));
    nodes.push_back({update.document.update.header.node, update.document.update.weight, deltas.back()});
  }
  return strategy.Combine(nodes, combined);
}

}  // namespace tributary
