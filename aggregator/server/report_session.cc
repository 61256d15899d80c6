#include "aggregator/server/report_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tributary::server {
namespace {

StreamRefusal Invalid(StreamFault fault, const std::string& message) {
  return {fault, absl::InvalidArgumentError(message)};
}

}  // namespace

std::optional<StreamRefusal> ReportSession::Take(const v1::ReportRequest& request, fusion::FusionTime now,
                                                 fusion::FusedSlots& out) {
  if (!admission_) return TakeHello(request);
  if (request.has_hello()) {
    return Invalid(StreamFault::kHelloRepeated, "hello: given already; only the first message carries it");
  }
  publish::NodeRecord& record = *admission_->membership.record;
  if (superseded()) return Superseded();
  if (request.frames_size() > kMaxFrames) {
    return Invalid(StreamFault::kTooLarge, fmt::format("frames: {} in one message, allowed are {}",
                                                       request.frames_size(), kMaxFrames));
  }
  for (const v1::Frame& wire : request.frames()) {
    if (wire.sequence() <= last_sequence_) {
      return Invalid(StreamFault::kOutOfOrder,
                     fmt::format("frames.sequence: {} after {}; it must ascend, from 1", wire.sequence(),
                                 last_sequence_));
    }
    last_sequence_ = wire.sequence();
    TakeFrame(wire, now, out);
  }
  unanswered_ += static_cast<std::uint64_t>(request.frames_size());
  record.acknowledged_sequence.store(answer_.acknowledged_sequence(), std::memory_order_relaxed);
  record.dropped_frames.store(request.dropped_frames(), std::memory_order_relaxed);
  record.last_frame_unix_ns.store(now.unix_ns, std::memory_order_relaxed);
  return std::nullopt;
}

std::optional<StreamRefusal> ReportSession::TakeHello(const v1::ReportRequest& request) {
  if (!request.has_hello() || request.frames_size() > 0) {
    return Invalid(StreamFault::kHelloMissing, "hello: the first message must carry it, and no frames");
  }
  std::variant<Admission, StreamRefusal> decision = Admit(request.hello(), certificate_name_, sites_, fleet_);
  if (StreamRefusal* refusal = std::get_if<StreamRefusal>(&decision)) return std::move(*refusal);
  admission_ = std::move(std::get<Admission>(decision));
  // Frames sent again below it are offered again; the engine detects duplicates.
  answer_.set_acknowledged_sequence(admission_->membership.record->acknowledged_sequence);
  answer_.set_slot_ns(static_cast<std::uint64_t>(site()->engine().config().slot.ns()));
  unanswered_ = 1;
  return std::nullopt;
}

void ReportSession::TakeFrame(const v1::Frame& wire, fusion::FusionTime now, fusion::FusedSlots& out) {
  publish::NodeRecord& record = *admission_->membership.record;
  Site& site = *admission_->site;
  answer_.set_acknowledged_sequence(
      std::max<std::uint64_t>(wire.sequence(), answer_.acknowledged_sequence()));
  if (wire.source() >= admission_->sources.size()) {
    site.CountRefusedOnWire(fusion::RefusalReason::kUnknownSource);
    Refuse(wire.sequence(), v1::REFUSAL_REASON_UNKNOWN_SOURCE,
           fmt::format("source: index {}, hello declared {}", wire.source(), admission_->sources.size()), {});
    return;
  }
  const AdmittedSource& source = admission_->sources[wire.source()];
  if (std::optional<wire::WireFault> fault = wire::FrameFromWire(wire, source.limits, frame_)) {
    site.CountRefusedOnWire(static_cast<fusion::RefusalReason>(fault->reason));
    Refuse(wire.sequence(), fault->reason, std::move(fault->message), {});
    return;
  }
  fusion::OfferResult result = site.engine().Offer(source.handle, frame_, now, out);
  for (fusion::Refusal& refusal : result.refusals) {
    Refuse(wire.sequence(), static_cast<v1::RefusalReason>(refusal.reason), std::move(refusal.message),
           refusal.subjects);
  }
  if (!result.accepted) return;
  ++taken_frames_;
  record.accepted_frames.fetch_add(1, std::memory_order_relaxed);
}

void ReportSession::Refuse(std::uint64_t sequence, v1::RefusalReason reason, std::string message,
                           const std::vector<std::uint32_t>& subjects) {
  if (subjects.empty()) {
    ++refused_frames_;
    admission_->membership.record->refused_frames.fetch_add(1, std::memory_order_relaxed);
  }
  v1::Refusal& refusal = *answer_.add_refusals();
  refusal.set_sequence(sequence);
  refusal.set_reason(reason);
  refusal.set_message(std::move(message));
  refusal.mutable_subjects()->Add(subjects.begin(), subjects.end());
}

bool ReportSession::Owns(fusion::SourceHandle source) const {
  return admission_ && std::any_of(admission_->sources.begin(), admission_->sources.end(),
                                   [source](const AdmittedSource& each) { return each.handle == source; });
}

void ReportSession::RefuseGated(const fusion::GatedTuple& tuple) {
  // The engine counts every gated tuple; a peer that does not read is not told of each one.
  if (answer_.refusals_size() >= kMaxPendingRefusals) return;
  Refuse(tuple.sequence, v1::REFUSAL_REASON_GATED, "inconsistent with the other sources of the slot",
         {tuple.subject});
}

bool ReportSession::superseded() const {
  return admission_ && admission_->membership.record->latest_stream.load(std::memory_order_relaxed) !=
                           admission_->membership.stream;
}

StreamRefusal ReportSession::Superseded() const {
  return {StreamFault::kSuperseded,
          absl::AbortedError(fmt::format("a newer stream of node \"{}\" has taken over", admission_->node))};
}

void ReportSession::TakeAnswer(v1::ReportResponse& response) {
  // Swap, so that both keep their memory.
  response.Clear();
  response.set_acknowledged_sequence(answer_.acknowledged_sequence());
  response.mutable_refusals()->Swap(answer_.mutable_refusals());
  response.set_slot_ns(answer_.slot_ns());
  answer_.clear_slot_ns();  // logged once
  unanswered_ = 0;
}

void ReportSession::Leave() {
  if (!admission_) return;
  std::uint64_t mine = admission_->membership.stream;
  admission_->membership.record->connected_stream.compare_exchange_strong(mine, 0);
}

}  // namespace tributary::server
