#include "aggregator/publish/slot_events.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "aggregator/publish/slot_truth.h"
#include "aggregator/publish/slot_view.h"
#include "core/http/query.h"
#include "core/status/macros.h"
#include "core/wire/convert.h"
#include "core/wire/json.h"

namespace tributary::publish {
namespace {

constexpr double kDefaultRateHz = 10;
constexpr double kLeastRateHz = 0.01;
constexpr double kMostRateHz = 50;

// What a reader asks for.
struct EventQuery {
  double rate_hz = kDefaultRateHz;
  SlotSelection selection;
  bool truth = false;
};

absl::StatusOr<EventQuery> ReadQuery(const http::HttpRequest& request) {
  EventQuery query;
  ASSIGN_OR_RETURN(query.rate_hz,
                   http::NumberParameter(request, "rate_hz", kDefaultRateHz, kLeastRateHz, kMostRateHz));
  ASSIGN_OR_RETURN(query.selection.subjects, http::NumbersParameter(request, "subjects"));
  if (request.query.contains("contributions")) {
    ASSIGN_OR_RETURN(const std::uint64_t subject,
                     http::IntegerParameter(request, "contributions", 0, 0, UINT32_MAX));
    query.selection.contributions = static_cast<std::uint32_t>(subject);
  }
  ASSIGN_OR_RETURN(query.truth, http::FlagParameter(request, "truth"));
  return query;
}

std::string IdOf(const std::string& start, std::uint64_t number) {
  return fmt::format("{}-{}", start, number);
}

// The number of the slot that the reader saw last; 0: none, or one of another process.
std::uint64_t SeenBefore(const std::string& start, std::string_view id) {
  if (!id.starts_with(start + "-")) return 0;
  const std::string_view digits = id.substr(start.size() + 1);
  std::uint64_t number = 0;
  return absl::SimpleAtoi(absl::string_view(digits.data(), digits.size()), &number) ? number : 0;
}

// One reader of a site.
class Reader {
 public:
  // `texts`: for a reader of whole slots, which shares them; null for one that asks for something of its own.
  Reader(const Site& site, std::string start, std::uint64_t seen, std::unique_ptr<SlotView> view, bool truth,
         std::shared_ptr<SlotText> texts)
      : site_(site),
        start_(std::move(start)),
        seen_(seen),
        view_(std::move(view)),
        truth_(truth),
        texts_(std::move(texts)) {
    wire::DescriptionToWire(site_.description(), response_);
  }

  std::optional<http::HttpEvent> Next() {
    const std::optional<BoardSlot> latest = site_.board().LatestAfter(seen_);
    if (!latest) return std::nullopt;
    const std::string id = IdOf(start_, latest->number);
    if (texts_ == nullptr) return http::HttpEvent{Print(*latest), id};
    return http::HttpEvent{texts_->Get(site_, truth_, {latest->number, latest->skipped},
                                       [this, &latest] { return Print(*latest); }),
                           id};
  }

 private:
  std::string Print(const BoardSlot& latest) {
    view_->Write(latest.slot, response_);
    response_.set_skipped_slots(latest.skipped);
    response_.clear_truth();
    const std::shared_ptr<const SiteAccount> account = site_.account();
    if (truth_ && account->truth) AddTruth(account->truth, site_.description().slot, response_);
    return wire::MessageJson(response_);
  }

  const Site& site_;
  const std::string start_;
  std::uint64_t seen_;
  const std::unique_ptr<SlotView> view_;
  const bool truth_;
  const std::shared_ptr<SlotText> texts_;
  v1::WatchResponse response_;  // reused
};

}  // namespace

http::HttpAnswer WatchEvents(const SiteTable& sites, const std::string& start,
                             const std::shared_ptr<SlotText>& texts, const http::HttpRequest& request) {
  const std::string name = request.Parameter("site");
  // With one site there is nothing to choose.
  Site* const site = name.empty() && sites.all().size() == 1 ? sites.all().front().get() : sites.Find(name);
  if (site == nullptr) return http::HttpProblem(404, std::string(sites.Unknown(name).message()));
  absl::StatusOr<EventQuery> query = ReadQuery(request);
  if (!query.ok()) return http::HttpProblem(400, std::string(query.status().message()));
  if (query->truth && !site->account()->truth) {
    return http::HttpProblem(
        400, fmt::format("truth: site \"{}\" has none; set truth in its [[site]]", site->name()));
  }
  const bool whole = query->selection.subjects.empty() && !query->selection.contributions;
  absl::StatusOr<std::unique_ptr<SlotView>> view =
      SlotView::Create(site->engine(), std::move(query->selection));
  if (!view.ok()) {
    return http::HttpProblem(absl::IsResourceExhausted(view.status()) ? 503 : 400,
                             std::string(view.status().message()));
  }
  // std::function wants what can be copied.
  const auto reader =
      std::make_shared<Reader>(*site, start, SeenBefore(start, request.Header("last-event-id")),
                               *std::move(view), query->truth, whole ? texts : nullptr);
  http::HttpEventStream stream;
  stream.interval = std::chrono::microseconds(std::llround(1e6 / query->rate_hz));
  stream.next = [reader] { return reader->Next(); };
  return stream;
}

}  // namespace tributary::publish
