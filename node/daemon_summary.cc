// What a node did, as one line of JSON.
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/wire/json.h"
#include "node/daemon.h"

namespace tributary::node {
namespace {

using Json = nlohmann::ordered_json;

std::uint64_t Sum(std::span<const std::uint64_t> counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

// Those that occurred; `name` gives the name of a reason's number.
template <typename Name>
Json ByReason(std::span<const std::uint64_t> counts, Name name) {
  Json reasons = Json::object();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) reasons[std::string(name(i))] = counts[i];
  }
  return reasons;
}

Json UdpJson(const source::UdpCounters& counters) {
  const auto name = [](std::size_t i) { return UdpFaultName(static_cast<source::UdpFault>(i)); };
  return {{"datagrams", counters.datagrams},
          {"unused_datagrams", counters.all_unused()},
          {"unused_datagrams_by_reason", ByReason(counters.unused, name)},
          {"lost_subjects", counters.lost_subjects},
          {"lost_slots", counters.lost_slots},
          {"kernel_drops", counters.kernel_drops}};
}

// Each count under the name of its metric, without the prefix and "_total".
template <typename Counts, std::size_t N>
void AddCounts(const Counts& counts, const runtime::CountMetric<Counts> (&metrics)[N],
               std::string_view prefix, Json& json) {
  for (const runtime::CountMetric<Counts>& metric : metrics) {
    const std::string name = metric.name;
    json[name.substr(prefix.size(), name.rfind("_total") - prefix.size())] = counts.*metric.count;
  }
}

double Microseconds(std::int64_t ns) { return 1e-3 * static_cast<double>(ns); }

}  // namespace

std::string Daemon::Summary() const {
  panel::PanelCounters total;
  runtime::LatencyHistogram latency;
  std::optional<source::UdpCounters> datagrams;
  for (const auto& panel : panels_) {
    const panel::PanelCounters counters = panel->counters();
    for (const auto& metric : panel::kPanelMetrics) total.*metric.count += counters.*metric.count;
    total.device = total.device + counters.device;
    latency.Merge(panel->latency());
    if (const auto received = panel->udp_counters()) {
      if (!datagrams) datagrams.emplace();
      *datagrams += *received;
    }
  }
  const link::UplinkCounters uplink = uplink_ == nullptr ? link::UplinkCounters() : uplink_->counters();
  const auto reason_name = [](std::size_t i) { return wire::EnumLabel(static_cast<v1::RefusalReason>(i)); };
  const std::uint64_t refused_tuples = Sum(uplink.refusals.tuples);
  Json line = {{"node", config_.node}, {"site", config_.site}, {"panels", panels_.size()}};
  AddCounts(total, panel::kPanelMetrics, "tributary_panel_", line);
  line.update({
      {"latency_us",
       {{"p50", Microseconds(latency.QuantileNs(0.5))}, {"p99", Microseconds(latency.QuantileNs(0.99))}}},
      {"sent_frames", uplink.spool.taken_frames},
      {"acknowledged_frames", uplink.spool.acknowledged_frames},
      {"acknowledged_tuples", uplink.spool.acknowledged_tuples},
      {"dropped_frames", uplink.spool.dropped_frames},
      {"dropped_tuples", uplink.spool.dropped_tuples},
      {"refused_frames", Sum(uplink.refusals.frames)},
      {"refused_tuples", refused_tuples},
      {"refused_tuples_by_reason", ByReason(uplink.refusals.tuples, reason_name)},
      {"resent_duplicate_frames", uplink.refusals.resent_duplicate_frames},
      {"resent_duplicate_tuples", uplink.refusals.resent_duplicate_tuples},
      {"connections", uplink.connections},
      {"lost_tuples", uplink.spool.dropped_tuples + refused_tuples},
  });
  if (uplink.disk) {
    line["recovered_tuples"] = uplink.disk->recovered_tuples;
    line["stored_tuples"] = uplink.disk->stored_tuples;
  }
  if (datagrams) line["udp"] = UdpJson(*datagrams);
  if (total.device.runs + total.device.nodes > 0) {
    AddCounts(total.device, panel::kDeviceMetrics, "tributary_", line["device"]);
  }
  if (fusion_ != nullptr) {
    AddCounts(fusion_->counters(), panel::kBoardFusionMetrics, "tributary_board_fusion_", line["fusion"]);
  }
  for (const auto& [name, retrainer] : retrainers_) {
    AddCounts(retrainer->status().counters, retraining::kRetrainingMetrics, "tributary_retraining_",
              line["retraining"][name]);
  }
  if (learner_ != nullptr) {
    const learner::LearnerCounters rounds = learner_->counters();
    const link::FederationClient::Counters link = learner_->link_counters();
    line["learner"] = {{"samples", rounds.samples},
                       {"accepted_updates", rounds.accepted},
                       {"refused_updates", rounds.refused},
                       {"withdrawn_rounds", rounds.withdrawn},
                       {"failed_rounds", rounds.failed},
                       {"round", rounds.round},
                       {"steps", rounds.steps},
                       {"training_seconds", rounds.seconds},
                       {"loss", rounds.loss},
                       {"spread", rounds.spread},
                       {"sent_bytes", link.sent_bytes},
                       {"received_bytes", link.received_bytes},
                       {"repeated_submissions", link.repeated_submissions}};
    if (training_board_ != nullptr) {
      AddCounts(training_board_->counters(), panel::kDeviceMetrics, "tributary_", line["learner"]["device"]);
    }
  }
  return wire::DumpJson(line);
}

}  // namespace tributary::node
