#include "aggregator/publish/site_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "aggregator/publish/calibration_finding.h"
#include "aggregator/publish/geojson.h"
#include "aggregator/publish/site_flow.h"
#include "core/http/query.h"
#include "core/radio/burst.h"
#include "core/wire/convert.h"
#include "core/wire/json.h"
#include "tributary/v1/fleet.pb.h"

namespace tributary::publish {
namespace {

constexpr std::uint64_t kDefaultPage = 100;
constexpr std::uint64_t kLargestPage = 1'000;
constexpr std::uint64_t kLargestReceiver = 65'535;  // as [panel.source] receiver
constexpr const char* kJson = "application/json";

http::HttpResponse Print(const google::protobuf::Message& message) {
  return http::HttpJson(wire::MessageJson(message));
}

http::HttpResponse NotThere(std::string_view why) { return http::HttpProblem(404, why); }

void SetByReason(const fusion::ReasonCounts& counts,
                 google::protobuf::Map<std::string, std::uint64_t>& reasons) {
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    reasons[wire::EnumLabel(static_cast<v1::RefusalReason>(i))] = counts[i];
  }
}

void SetCounters(const fusion::FusionCounters& from, v1::SiteCounters& to) {
  to.set_accepted_frames(from.frames_accepted);
  to.set_refused_frames(fusion::Sum(from.frames_refused));
  SetByReason(from.frames_refused, *to.mutable_refused_frames_by_reason());
  to.set_accepted_tuples(from.tuples_accepted);
  to.set_refused_tuples(fusion::Sum(from.tuples_refused));
  SetByReason(from.tuples_refused, *to.mutable_refused_tuples_by_reason());
  to.set_fused_tuples(from.tuples_fused);
  to.set_complete_slots(from.slots_complete);
  to.set_deadline_slots(from.slots_at_deadline);
  to.set_evicted_slots(from.slots_evicted);
  to.set_revisions(from.revisions);
  to.set_open_slots(from.open_slots);
}

v1::SourceCalibration CalibrationMessage(const fusion::LeafCalibration& from) {
  v1::SourceCalibration message;
  message.set_corrected(from.corrected);
  message.set_scale(from.scale);
  message.set_shift_x_m(from.shift_m[0]);
  message.set_shift_y_m(from.shift_m[1]);
  message.set_shift_x_deviation_m(from.shift_deviation_m[0]);
  message.set_shift_y_deviation_m(from.shift_deviation_m[1]);
  message.set_turn_deg(from.turn_deg);
  message.set_turn_deviation_deg(from.turn_deviation_deg);
  message.set_observations(from.observations);
  message.set_finding(CalibrationFinding(from));
  return message;
}

v1::CalibrationMode ModeMessage(const fusion::FusionEngine& engine) {
  if (engine.config().dimension != 2) return v1::CALIBRATION_MODE_UNSPECIFIED;
  switch (engine.calibration_mode()) {
    case fusion::CalibrationMode::kOff:
      return v1::CALIBRATION_MODE_OFF;
    case fusion::CalibrationMode::kObserve:
      return v1::CALIBRATION_MODE_OBSERVE;
    case fusion::CalibrationMode::kCorrect:
      return v1::CALIBRATION_MODE_CORRECT;
  }
  return v1::CALIBRATION_MODE_UNSPECIFIED;
}

void SetBand(const estimate::ConsistencyBand& from, v1::ConsistencyBand& to) {
  to.set_low(from.low);
  to.set_high(from.high);
  to.set_tuples(from.tuples);
}

v1::Site SiteMessage(const Site& from) {
  const fusion::FusionEngine& engine = from.engine();
  const fusion::SiteConfig& config = engine.config();
  const std::shared_ptr<const SiteAccount> account = from.account();
  v1::Site site;
  site.set_has_room(account->room.has_value());
  site.set_has_truth(static_cast<bool>(account->truth));
  site.set_name(config.name);
  site.set_dimension(config.dimension);
  site.set_calibration(ModeMessage(engine));
  site.mutable_classes()->Assign(config.classes.begin(), config.classes.end());
  site.set_slot_ns(static_cast<std::uint64_t>(config.slot.ns()));
  SetCounters(engine.counters(), *site.mutable_counters());
  for (const fusion::SourceStatus& each : engine.sources()) {
    v1::SiteSource& source = *site.add_sources();
    source.set_name(each.name);
    source.set_accepted_frames(each.frames_accepted);
    source.set_refused_frames(each.frames_refused);
    source.set_gated_tuples(each.tuples_gated);
    source.set_last_epoch(each.last_epoch);
    source.set_consistency(each.consistency);
    if (each.consistency_band) SetBand(*each.consistency_band, *source.mutable_consistency_band());
    if (each.calibration) *source.mutable_calibration() = CalibrationMessage(*each.calibration);
  }
  for (const fusion::LeafStatus& each : engine.leaves()) {
    v1::SiteLeaf& leaf = *site.add_leaves();
    leaf.set_name(each.name);
    leaf.set_missed_slots(each.missed_slots);
    leaf.set_absent(each.absent);
  }
  return site;
}

http::HttpResponse LatestSlot(const AggregatorState&, const Site& site) {
  const std::optional<BoardSlot> latest = site.board().Latest();
  if (!latest) return {204, kJson, ""};
  return Print(wire::SlotMessage(site.description(), latest->slot, latest->skipped));
}

http::HttpResponse Plan(const AggregatorState&, const Site& site, const http::HttpRequest&) {
  const std::shared_ptr<const SiteAccount> account = site.account();
  if (account->room) return Print(*account->room);
  return NotThere(
      fmt::format("site \"{}\" has no plan: set [site.room] in the aggregator's configuration", site.name()));
}

http::HttpResponse Flow(const AggregatorState& state, const Site& site, const http::HttpRequest&) {
  return Print(FlowOf(site, state.fleet));
}

http::HttpResponse SubjectsOnEarth(const AggregatorState&, const Site& site, const http::HttpRequest&) {
  const std::shared_ptr<const SiteAccount> account = site.account();
  if (!account->room || !account->room->has_origin()) {
    return NotThere(
        fmt::format("where site \"{}\" is on Earth is not known: set [site.room.origin] in the "
                    "aggregator's configuration",
                    site.name()));
  }
  if (site.engine().config().dimension < 2) {
    return NotThere(fmt::format("site \"{}\" has no positions in a plane", site.name()));
  }
  const std::optional<BoardSlot> latest = site.board().Latest();
  if (!latest) return {204, kJson, ""};
  http::HttpResponse response =
      http::HttpJson(SubjectsGeoJson(site.name(), account->room->origin(), latest->slot));
  response.content_type = "application/geo+json";
  return response;
}

// ?subject=&receiver=&epoch=; without an epoch the latest slot.
http::HttpResponse Burst(const AggregatorState&, const Site& site, const http::HttpRequest& request) {
  const std::shared_ptr<const SiteAccount> account = site.account();
  if (!account->bursts) {
    return NotThere(
        fmt::format("site \"{}\" has no simulated emitters: set truth = \"generator:…\" in the aggregator's "
                    "configuration. Nodes send no samples",
                    site.name()));
  }
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  const auto subject = http::IntegerParameter(request, "subject", 1, 0, kMost);
  const auto receiver = http::IntegerParameter(request, "receiver", 0, 0, kLargestReceiver);
  const auto epoch = http::IntegerParameter(request, "epoch", 0, 0, std::numeric_limits<std::int64_t>::max());
  for (const auto* parameter : {&subject, &receiver, &epoch}) {
    if (!parameter->ok()) return http::HttpProblem(400, std::string(parameter->status().message()));
  }
  estimate::Epoch slot = *epoch;
  if (slot == 0) {
    const std::optional<BoardSlot> latest = site.board().Latest();
    if (!latest) return {204, kJson, ""};
    slot = latest->slot.epoch;
  }
  const auto burst = account->bursts(static_cast<std::uint32_t>(*subject), slot, site.engine().config().slot,
                                     static_cast<std::uint32_t>(*receiver));
  if (!burst) return NotThere(fmt::format("no burst is sent in slot {}", slot));
  v1::SimulatedBurst message;
  message.set_site(site.name());
  message.set_subject(static_cast<std::uint32_t>(*subject));
  message.set_epoch(slot);
  message.set_receiver(static_cast<std::uint32_t>(*receiver));
  message.set_modulation(std::string(burst->modulation));
  message.set_snr_db(burst->snr_db);
  const auto middle = burst->samples.begin() + radio::kBurstSamples;
  message.mutable_in_phase()->Assign(burst->samples.begin(), middle);
  message.mutable_quadrature()->Assign(middle, burst->samples.end());
  return Print(message);
}

struct Page {
  std::string_view name;  // behind the site's
  http::HttpResponse (*answer)(const AggregatorState&, const Site&, const http::HttpRequest&);
  bool has_parameters = false;
};
constexpr std::array<Page, 4> kPages = {
    {{"room", Plan}, {"flow", Flow}, {"subjects.geojson", SubjectsOnEarth}, {"burst", Burst, true}}};

// The route takes those of any page of a site.
http::HttpResponse NoParameter(const http::HttpRequest& request) {
  return http::HttpProblem(400, fmt::format("{}: no such parameter here", request.query.begin()->first));
}

}  // namespace

http::HttpResponse SitesPage(const SiteTable& sites, const http::HttpRequest& request) {
  const absl::StatusOr<std::uint64_t> limit =
      http::IntegerParameter(request, "limit", kDefaultPage, 1, kLargestPage);
  if (!limit.ok()) return http::HttpProblem(400, std::string(limit.status().message()));
  const std::string after = request.Parameter("after_site");
  if (!after.empty() && sites.Find(after) == nullptr)
    return NotThere(std::string(sites.Unknown(after).message()));
  v1::ListSitesResponse response;
  bool passed = after.empty();
  for (const auto& site : sites.all()) {
    if (!passed) {
      passed = site->name() == after;
    } else if (static_cast<std::uint64_t>(response.sites_size()) == *limit) {
      response.set_more(true);
      break;
    } else {
      *response.add_sites() = SiteMessage(*site);
    }
  }
  return Print(response);
}

http::HttpResponse SitePage(const AggregatorState& state, const http::HttpRequest& request) {
  // A site's name may have slashes.
  if (const Site* site = state.sites.Find(request.rest)) {
    return request.query.empty() ? LatestSlot(state, *site) : NoParameter(request);
  }
  const std::size_t slash = std::min(request.rest.rfind('/'), request.rest.size());
  const std::string name = request.rest.substr(0, slash);
  const Site* const site = state.sites.Find(name);
  if (site == nullptr) return NotThere(std::string(state.sites.Unknown(name).message()));
  const std::string_view page = std::string_view(request.rest).substr(slash + 1);
  const auto found = std::ranges::find(kPages, page, &Page::name);
  if (found == kPages.end()) {
    return NotThere(
        fmt::format("\"{}\" is no page of a site, which has room, flow, subjects.geojson and burst", page));
  }
  if (!found->has_parameters && !request.query.empty()) return NoParameter(request);
  return found->answer(state, *site, request);
}

}  // namespace tributary::publish
