#include "aggregator/server/report_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "core/wire/hello.h"
#include "core/wire/node_status.h"

namespace tributary::server {
namespace {

StreamRefusal Invalid(StreamFault fault, const std::string& message) {
  return {fault, absl::InvalidArgumentError(message)};
}

std::string Digest(const std::string& sha256) {
  return sha256.empty() ? "none" : absl::BytesToHexString(sha256);
}

// The node and the site count the same slots and run the same model.
std::optional<StreamRefusal> CheckAgreement(const v1::Hello& hello, estimate::SlotLength slot,
                                            const publish::Site& site) {
  const fusion::SiteConfig& config = site.engine().config();
  if (slot != config.slot) {
    // With another length the same epoch names another time: no frame of such a node could match its slot.
    return StreamRefusal{
        StreamFault::kSlotDiffers,
        absl::FailedPreconditionError(fmt::format(
            "hello.slot_ns: node \"{}\" counts slots of {}, site \"{}\" of {}; set slot_ms to the same "
            "value in the configuration of both",
            hello.node(), slot.Text(), config.name, config.slot.Text()))};
  }
  const std::string expected_model = site.model_sha256();
  if (!expected_model.empty() && expected_model != hello.model().sha256()) {
    return StreamRefusal{
        StreamFault::kModelDiffers,
        absl::FailedPreconditionError(fmt::format(
            "hello.model.sha256: model \"{}\" version \"{}\" has the digest {}, site \"{}\" runs {}",
            hello.model().name(), hello.model().version(), Digest(hello.model().sha256()), config.name,
            Digest(expected_model)))};
  }
  return std::nullopt;
}

}  // namespace

std::optional<StreamRefusal> ReportSession::Take(const v1::ReportRequest& request, fusion::FusionTime now,
                                                 fusion::FusedSlots& out, const Publish& publish) {
  if (!admitted()) return TakeHello(request);
  if (request.has_hello()) {
    return Invalid(StreamFault::kHelloRepeated, "hello: given already; only the first message carries it");
  }
  publish::NodeRecord& record = *membership_.record;
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
    if (out.size() >= fusion::kMostFusedAtOnce) publish();
  }
  unanswered_ += static_cast<std::uint64_t>(request.frames_size());
  record.acknowledged_sequence.store(answer_.acknowledged_sequence(), std::memory_order_relaxed);
  record.dropped_frames.store(std::min(request.dropped_frames(), wire::kMostStatusCount),
                              std::memory_order_relaxed);
  if (request.frames_size() > 0) record.last_frame_unix_ns.store(now.unix_ns, std::memory_order_relaxed);
  if (request.has_status()) record.TakeStatus(request.status(), now.unix_ns);
  return std::nullopt;
}

std::optional<StreamRefusal> ReportSession::TakeHello(const v1::ReportRequest& request) {
  if (!request.has_hello() || request.frames_size() > 0) {
    return Invalid(StreamFault::kHelloMissing, "hello: the first message must carry it, and no frames");
  }
  const absl::StatusOr<estimate::SlotLength> slot = wire::CheckHello(request.hello());
  if (!slot.ok()) return StreamRefusal{StreamFault::kMalformed, slot.status()};
  if (std::optional<StreamRefusal> refusal = Admit(request.hello(), *slot)) return refusal;
  // Frames sent again below it are offered again; the engine detects duplicates.
  answer_.set_acknowledged_sequence(membership_.record->acknowledged_sequence);
  const fusion::SiteConfig& config = site()->engine().config();
  answer_.set_slot_ns(static_cast<std::uint64_t>(config.slot.ns()));
  if (config.max_age_ns) answer_.set_max_age_ns(static_cast<std::uint64_t>(*config.max_age_ns));
  unanswered_ = 1;
  return std::nullopt;
}

std::optional<StreamRefusal> ReportSession::Admit(const v1::Hello& hello, estimate::SlotLength slot) {
  if (identity_ && identity_->name != hello.node()) {
    return StreamRefusal{StreamFault::kIdentityDiffers,
                         absl::PermissionDeniedError(fmt::format(
                             "hello.node: \"{}\" reports with the certificate of \"{}\"; they must be equal",
                             hello.node(), identity_->name))};
  }
  publish::Site* site = state_.sites.Find(hello.site());
  if (site == nullptr) return StreamRefusal{StreamFault::kUnknownSite, state_.sites.Unknown(hello.site())};
  if (std::optional<StreamRefusal> refusal = CheckAgreement(hello, slot, *site)) return refusal;
  std::vector<fusion::SourceDeclaration> declared;
  for (const v1::Source& source : hello.sources()) {
    declared.push_back({.name = source.name(),
                        .dimension = source.dimension(),
                        .leaves = {source.leaves().begin(), source.leaves().end()},
                        .classes = {source.classes().begin(), source.classes().end()},
                        .prior = {source.prior().begin(), source.prior().end()}});
  }
  if (std::optional<StreamRefusal> refusal = CheckOwner(hello.site(), hello.node(), declared)) return refusal;
  fusion::FusionEngine& engine = site->engine();
  const std::vector<std::string>& leaves = engine.config().leaves;
  if (absl::Status status = state_.fleet.CheckSourcesFree(hello, peer_, leaves); !status.ok()) {
    return StreamRefusal{
        absl::IsResourceExhausted(status) ? StreamFault::kTooMany : StreamFault::kSourceTaken, status};
  }
  const absl::StatusOr<std::vector<fusion::SourceHandle>> handles = engine.Join(declared);
  if (!handles.ok()) {
    const absl::StatusCode code = handles.status().code();
    return StreamRefusal{
        code == absl::StatusCode::kResourceExhausted ? StreamFault::kTooMany : StreamFault::kUnknownLeaf,
        absl::Status(code, fmt::format("hello.sources: {}", std::string(handles.status().message())))};
  }
  absl::StatusOr<publish::Fleet::Membership> membership = state_.fleet.Join(hello, peer_);
  if (!membership.ok()) {
    for (const fusion::SourceHandle each : *handles) engine.Leave(each);
    return StreamRefusal{StreamFault::kTooMany, membership.status()};
  }
  std::vector<Source> sources;
  for (std::size_t i = 0; i < handles->size(); ++i) {
    sources.push_back(
        {(*handles)[i], {engine.config().shape(), declared[i].leaves.size(), engine.config().max_subjects}});
    // Equal to the site's by now: only names and leaves are asked again.
    declared[i].classes = {};
    declared[i].prior = {};
  }
  site_ = site;
  node_ = hello.node();
  admitted_ = std::move(sources);
  declared_ = std::move(declared);
  membership_ = *std::move(membership);
  membership_.record->Identify(identity_ ? identity_->name : "", certificate_expires_unix_ns_);
  return std::nullopt;
}

void ReportSession::TakeFrame(const v1::Frame& wire, fusion::FusionTime now, fusion::FusedSlots& out) {
  publish::NodeRecord& record = *membership_.record;
  publish::Site& site = *site_;
  answer_.set_acknowledged_sequence(
      std::max<std::uint64_t>(wire.sequence(), answer_.acknowledged_sequence()));
  if (wire.source() >= admitted_.size()) {
    site.CountRefusedOnWire(v1::REFUSAL_REASON_UNKNOWN_SOURCE);
    Refuse(wire.sequence(), v1::REFUSAL_REASON_UNKNOWN_SOURCE,
           fmt::format("source: index {}, hello declared {}", wire.source(), admitted_.size()), {});
    return;
  }
  const Source& source = admitted_[wire.source()];
  if (std::optional<wire::WireFault> fault = wire::FrameFromWire(wire, source.limits, frame_)) {
    site.CountRefusedOnWire(fault->reason);
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
    membership_.record->refused_frames.fetch_add(1, std::memory_order_relaxed);
  }
  v1::Refusal& refusal = *answer_.add_refusals();
  refusal.set_sequence(sequence);
  refusal.set_reason(reason);
  refusal.set_message(std::move(message));
  refusal.mutable_subjects()->Add(subjects.begin(), subjects.end());
}

bool ReportSession::Owns(fusion::SourceHandle source) const {
  return admitted() && !left_ &&
         std::any_of(admitted_.begin(), admitted_.end(),
                     [source](const Source& each) { return each.handle == source; });
}

void ReportSession::RefuseGated(const fusion::GatedTuple& tuple) {
  // The engine counts every gated tuple; a peer that does not read is not told of each one.
  if (answer_.refusals_size() >= kMaxPendingRefusals) return;
  Refuse(tuple.sequence, v1::REFUSAL_REASON_GATED, "inconsistent with the other sources of the slot",
         {tuple.subject});
}

std::optional<StreamRefusal> ReportSession::CheckOwner(
    const std::string& site, const std::string& node,
    const std::vector<fusion::SourceDeclaration>& sources) const {
  if (state_.access == nullptr) return std::nullopt;
  const std::shared_ptr<const access::AccessPolicy> policy = state_.access->policy();
  absl::Status status = state_.access->CheckCall(access::kReportPath, identity_.value_or(access::Peer{node}));
  for (const fusion::SourceDeclaration& source : sources) {
    status.Update(policy->CheckSource(site, node, source.name, source.leaves));
  }
  if (status.ok()) return std::nullopt;
  return StreamRefusal{StreamFault::kNotAllowed, std::move(status)};
}

std::optional<StreamRefusal> ReportSession::CheckAccess() const {
  if (!admitted()) return std::nullopt;  // judged at its hello
  return CheckOwner(site_->name(), node_, declared_);
}

bool ReportSession::superseded() const {
  return admitted() &&
         membership_.record->latest_stream.load(std::memory_order_relaxed) != membership_.stream;
}

StreamRefusal ReportSession::Superseded() const {
  return {StreamFault::kSuperseded, absl::AbortedError(fmt::format(
                                        "a newer stream of node \"{}\" has taken over; if two processes have "
                                        "this name, give each a name of its own",
                                        node_))};
}

void ReportSession::TakeAnswer(v1::ReportResponse& response) {
  response = v1::ReportResponse();  // which keeps the room of no refusal
  response.set_acknowledged_sequence(answer_.acknowledged_sequence());
  response.mutable_refusals()->Swap(answer_.mutable_refusals());
  response.set_slot_ns(answer_.slot_ns());
  if (answer_.has_max_age_ns()) response.set_max_age_ns(answer_.max_age_ns());
  answer_.clear_slot_ns();  // said once, as the age
  answer_.clear_max_age_ns();
  unanswered_ = 0;
}

void ReportSession::Leave() {
  if (!admitted() || std::exchange(left_, true)) return;
  state_.fleet.Leave(site_->name(), node_, membership_);
  for (const Source& source : admitted_) site_->engine().Leave(source.handle);
}

}  // namespace tributary::server
