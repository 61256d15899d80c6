#include "aggregator/publish/json.h"

#include <cstddef>
#include <vector>

#include "absl/strings/escaping.h"
#include "core/estimate/tuple_frame.h"

namespace tributary {
namespace {

using nlohmann::json;

std::vector<float> Row(const std::vector<float>& values, std::size_t row, std::size_t width) {
  const auto begin = values.begin() + static_cast<std::ptrdiff_t>(row * width);
  return {begin, begin + static_cast<std::ptrdiff_t>(width)};
}

// The lower triangle of L Lᵀ, row by row.
std::vector<double> Covariance(const std::vector<float>& cholesky, std::size_t dimension) {
  const auto at = [&](std::size_t row, std::size_t column) {
    return static_cast<double>(cholesky[row * (row + 1) / 2 + column]);
  };
  std::vector<double> covariance;
  for (std::size_t row = 0; row < dimension; ++row) {
    for (std::size_t column = 0; column <= row; ++column) {
      double sum = 0;
      for (std::size_t k = 0; k <= column; ++k) sum += at(row, k) * at(column, k);
      covariance.push_back(sum);
    }
  }
  return covariance;
}

std::vector<std::string> Contributors(const FusedSlot& slot, std::size_t row,
                                      const std::vector<std::string>& leaves) {
  std::vector<std::string> names;
  for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
    const std::uint64_t word = slot.contributors[row * slot.contributor_words + leaf / 64];
    if ((word >> (leaf % 64) & 1) != 0) names.push_back(leaves[leaf]);
  }
  return names;
}

json ByReason(const std::array<std::uint64_t, kRefusalReasons>& counts) {
  json reasons = json::object();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) reasons[std::string(RefusalReasonName(static_cast<RefusalReason>(i)))] = counts[i];
  }
  return reasons;
}

json CountersJson(const FusionCounters& counters) {
  return {{"frames_accepted", counters.frames_accepted},
          {"frames_refused", ByReason(counters.frames_refused)},
          {"tuples_accepted", counters.tuples_accepted},
          {"tuples_refused", ByReason(counters.tuples_refused)},
          {"tuples_fused", counters.tuples_fused},
          {"slots_complete", counters.slots_complete},
          {"slots_at_deadline", counters.slots_at_deadline},
          {"slots_evicted", counters.slots_evicted},
          {"revisions", counters.revisions},
          {"open_slots", counters.open_slots}};
}

json LearningJson(const LearningStatus& learning) {
  return {{"run", learning.run},
          {"connected", learning.connected},
          {"sample_count", learning.sample_count},
          {"last_round", learning.last_round},
          {"accepted_updates", learning.accepted_updates},
          {"refused_updates", learning.refused_updates},
          {"dropped_rounds", learning.dropped_rounds},
          {"last_refusal", learning.last_refusal}};
}

}  // namespace

json SlotJson(const FusedSlot& slot, const SiteConfig& site) {
  const std::size_t d = slot.dimension;
  json subjects = json::array();
  for (std::size_t i = 0; i < slot.subjects.size(); ++i) {
    json subject = {{"subject", slot.subjects[i]},
                    {"mean_m", Row(slot.means, i, d)},
                    {"covariance_m2", Covariance(Row(slot.cholesky, i, TriangleSize(d)), d)},
                    {"contributors", Contributors(slot, i, site.leaves)},
                    {"consistency", slot.consistency[i]}};
    if (!slot.velocities.empty()) subject["velocity_m_s"] = Row(slot.velocities, i, d);
    subjects.push_back(std::move(subject));
  }
  return {{"site", site.name},
          {"epoch", slot.epoch},
          {"revision", slot.revision},
          {"captured_unix_ns", slot.captured_unix_ns},
          {"fused_unix_ns", slot.fused_unix_ns},
          {"dimension", slot.dimension},
          {"subjects", std::move(subjects)}};
}

json SiteJson(const FusionEngine& engine) {
  const SiteConfig& config = engine.config();
  json sources = json::array();
  for (const SourceStatus& source : engine.sources()) {
    sources.push_back({{"name", source.name},
                       {"frames_accepted", source.frames_accepted},
                       {"frames_refused", source.frames_refused},
                       {"tuples_gated", source.tuples_gated},
                       {"last_epoch", source.last_epoch},
                       {"consistency", source.consistency}});
  }
  json leaves = json::array();
  for (const LeafStatus& leaf : engine.leaves()) {
    leaves.push_back({{"name", leaf.name}, {"missed_slots", leaf.missed_slots}, {"absent", leaf.absent}});
  }
  return {{"name", config.name},           {"dimension", config.dimension},
          {"slot_ns", config.slot.ns()},   {"counters", CountersJson(engine.counters())},
          {"sources", std::move(sources)}, {"leaves", std::move(leaves)}};
}

json NodeJson(const KnownNode& known) {
  const NodeStatus& node = known.report;
  json learns = json::array();
  for (const LearningStatus& each : known.learns) learns.push_back(LearningJson(each));
  json sources = json::array();
  for (const ReportingSource& source : node.process.sources) sources.push_back(source.name);
  return {{"site", node.process.site},
          {"name", node.process.node},
          {"connected", node.connected},
          {"learns", std::move(learns)},
          {"last_frame_unix_ns", node.last_frame_unix_ns},
          {"accepted_frames", node.accepted_frames},
          {"refused_frames", node.refused_frames},
          {"dropped_frames", node.dropped_frames},
          {"sources", std::move(sources)},
          {"model",
           {{"name", node.process.model.name},
            {"version", node.process.model.version},
            {"sha256", absl::BytesToHexString(node.process.model.sha256)}}}};
}

std::string Dump(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

}  // namespace tributary
