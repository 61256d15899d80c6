#include "core/wire/record_json.h"

#include <cstddef>
#include <utility>

#include "absl/strings/escaping.h"
#include "core/estimate/tuple_frame.h"

namespace tributary::wire {
namespace {

using Json = nlohmann::ordered_json;

std::vector<float> Row(const std::vector<float>& values, std::size_t row, std::size_t width) {
  const auto begin = values.begin() + static_cast<std::ptrdiff_t>(row * width);
  return {begin, begin + static_cast<std::ptrdiff_t>(width)};
}

Json Contributors(const estimate::FusedSlot& slot, std::size_t row, const std::vector<std::string>& leaves) {
  Json names = Json::array();
  for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
    const std::uint64_t word = slot.contributors[row * slot.contributor_words + leaf / 64];
    if ((word >> (leaf % 64) & 1) != 0) names.push_back(leaves[leaf]);
  }
  return names;
}

Json LearningJson(const v1::Learning& learning) {
  return {{"run", learning.run()},
          {"connected", learning.connected()},
          {"sample_count", learning.sample_count()},
          {"last_round", learning.last_round()},
          {"accepted_updates", learning.accepted_updates()},
          {"refused_updates", learning.refused_updates()},
          {"dropped_rounds", learning.dropped_rounds()},
          {"last_refusal", learning.last_refusal()}};
}

}  // namespace

Json SlotJson(const estimate::FusedSlot& slot, estimate::SlotLength length, const std::string& site,
              const std::vector<std::string>& leaves) {
  const std::size_t d = slot.dimension;
  Json estimates = Json::array();
  for (std::size_t i = 0; i < slot.subjects.size(); ++i) {
    Json estimate = {{"subject", slot.subjects[i]},
                     {"mean", Row(slot.means, i, d)},
                     {"scale_tril", Row(slot.cholesky, i, estimate::TriangleSize(d))},
                     {"contributors", Contributors(slot, i, leaves)},
                     {"consistency", slot.consistency[i]}};
    if (!slot.velocities.empty()) estimate["velocity"] = Row(slot.velocities, i, d);
    estimates.push_back(std::move(estimate));
  }
  return {{"site", site},
          {"epoch", Exact(slot.epoch)},
          {"slot_ns", Exact(length.ns())},
          {"revision", slot.revision},
          {"captured_unix_ns", Exact(slot.captured_unix_ns)},
          {"fused_unix_ns", Exact(slot.fused_unix_ns)},
          {"dimension", slot.dimension},
          {"estimates", std::move(estimates)}};
}

Json NodeJson(const v1::Node& node) {
  Json learns = Json::array();
  for (const v1::Learning& learning : node.learns()) learns.push_back(LearningJson(learning));
  return {{"site", node.site()},
          {"name", node.name()},
          {"connected", node.connected()},
          {"last_frame_unix_ns", Exact(node.last_frame_unix_ns())},
          {"accepted_frames", node.accepted_frames()},
          {"refused_frames", node.refused_frames()},
          {"dropped_frames", node.dropped_frames()},
          {"sources", std::vector<std::string>(node.sources().begin(), node.sources().end())},
          {"learns", std::move(learns)},
          {"model_name", node.model_name()},
          {"model_version", node.model_version()},
          {"model_sha256", absl::BytesToHexString(node.model_sha256())}};
}

std::string DumpJson(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace tributary::wire
