#include "node/summary.h"

#include <nlohmann/json.hpp>

#include "core/wire/json.h"

namespace tributary::node {
namespace {

using Json = nlohmann::ordered_json;

std::uint64_t Sum(const std::array<std::uint64_t, link::kRefusalReasonCount>& counts) {
  std::uint64_t sum = 0;
  for (const std::uint64_t count : counts) sum += count;
  return sum;
}

Json ByReason(const std::array<std::uint64_t, link::kRefusalReasonCount>& counts) {
  Json reasons = Json::object();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) reasons[wire::EnumLabel(static_cast<v1::RefusalReason>(i))] = counts[i];
  }
  return reasons;
}

Json UdpJson(const source::UdpCounters& counters) {
  Json reasons = Json::object();
  for (std::size_t i = 0; i < source::kUdpFaults; ++i) {
    if (counters.unused[i] > 0)
      reasons[std::string(source::UdpFaultName(static_cast<source::UdpFault>(i)))] = counters.unused[i];
  }
  return {{"datagrams", counters.datagrams},
          {"unused_datagrams", counters.all_unused()},
          {"unused_datagrams_by_reason", std::move(reasons)},
          {"lost_subjects", counters.lost_subjects},
          {"lost_slots", counters.lost_slots},
          {"kernel_drops", counters.kernel_drops}};
}

double Microseconds(std::int64_t ns) { return 1e-3 * static_cast<double>(ns); }

}  // namespace

std::string SummaryLine(const std::string& node, const std::string& site,
                        const std::vector<std::unique_ptr<panel::Panel>>& panels,
                        const panel::BoardFusion* fusion, const link::UplinkCounters& uplink,
                        const learner::Learner* learner) {
  panel::PanelCounters total;
  runtime::LatencyHistogram latency;
  source::UdpCounters datagrams;
  bool takes_datagrams = false;
  for (const auto& panel : panels) {
    const panel::PanelCounters counters = panel->counters();
    total.frames += counters.frames;
    total.surplus_frames += counters.surplus_frames;
    total.tuples += counters.tuples;
    total.missed_frames += counters.missed_frames;
    total.unusable_tuples += counters.unusable_tuples;
    total.failed_frames += counters.failed_frames;
    total.restarts += counters.restarts;
    latency.Merge(panel->latency());
    datagrams += panel->udp().counters();
    takes_datagrams |= panel->udp().following();
  }
  const std::uint64_t refused_tuples = Sum(uplink.refusals.tuples);
  Json line = {
      {"node", node},
      {"site", site},
      {"panels", panels.size()},
      {"frames", total.frames},
      {"surplus_frames", total.surplus_frames},
      {"tuples", total.tuples},
      {"missed_frames", total.missed_frames},
      {"unusable_tuples", total.unusable_tuples},
      {"failed_frames", total.failed_frames},
      {"restarts", total.restarts},
      {"latency_us",
       {{"p50", Microseconds(latency.QuantileNs(0.5))}, {"p99", Microseconds(latency.QuantileNs(0.99))}}},
      {"sent_frames", uplink.spool.taken_frames},
      {"acknowledged_frames", uplink.spool.acknowledged_frames},
      {"acknowledged_tuples", uplink.spool.acknowledged_tuples},
      {"dropped_frames", uplink.spool.dropped_frames},
      {"dropped_tuples", uplink.spool.dropped_tuples},
      {"refused_frames", Sum(uplink.refusals.frames)},
      {"refused_tuples", refused_tuples},
      {"refused_tuples_by_reason", ByReason(uplink.refusals.tuples)},
      {"resent_duplicate_frames", uplink.refusals.resent_duplicate_frames},
      {"resent_duplicate_tuples", uplink.refusals.resent_duplicate_tuples},
      {"connections", uplink.connections},
      {"lost_tuples", uplink.spool.dropped_tuples + refused_tuples},
  };
  if (takes_datagrams) line["udp"] = UdpJson(datagrams);
  if (fusion != nullptr) {
    const panel::BoardFusionCounters counters = fusion->counters();
    line["fusion"] = {{"slots", counters.slots},
                      {"incomplete_slots", counters.incomplete_slots},
                      {"failed_slots", counters.failed_slots},
                      {"dropped_slots", counters.dropped_slots},
                      {"late_frames", counters.late_frames},
                      {"tuples", counters.tuples},
                      {"unusable_tuples", counters.unusable_tuples}};
  }
  if (learner != nullptr) {
    const learner::LearnerCounters rounds = learner->counters();
    const link::FederationClient::Counters link = learner->link_counters();
    line["learner"] = {{"images", learner->image_count()},
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
  }
  return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tributary::node
