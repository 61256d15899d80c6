#include "aggregator/server/watch_call.h"

#include <fmt/format.h>

#include <utility>

#include "aggregator/access/call_gate.h"
#include "core/wire/convert.h"
#include "core/wire/peer.h"
#include "core/wire/peer_address.h"

namespace tributary::server {

void WatchCall::Listen(IngestQueue& queue) {
  auto call = std::shared_ptr<WatchCall>(new WatchCall(queue));
  call->self_ = call;
  call->context_.AsyncNotifyWhenDone(&call->done_tag_);
  queue.service().RequestWatch(&call->context_, &call->stream_, queue.queue(), queue.queue(),
                               &call->started_);
}

void WatchCall::OnStarted(bool ok) {
  if (!ok) {
    self_.reset();  // the server is shutting down; OnDone does not come
    return;
  }
  Listen(queue_);
  const std::optional<access::Peer> identity = access::PeerOf(*context_.auth_context(), shared_.state.access);
  counted_.emplace(shared_.connections, context_.peer(), identity ? identity->name : "").CountAsRare();
  peer_ = identity ? identity->name : wire::AddressOf(counted_->peer());
  identity_ = identity.value_or(access::Peer());
  if (queue_.draining()) return End(absl::UnavailableError("the aggregator is shutting down"));
  {
    const runtime::MutexLock lock(mutex_);
    writing_ = true;  // until the request is there, nothing else may begin or end
  }
  stream_.Read(&request_, &requested_);
}

void WatchCall::OnRequest(bool ok) {
  {
    const runtime::MutexLock lock(mutex_);
    writing_ = false;
  }
  if (!ok) {
    if (request_.refused) counted_->CountAsMalformed();
    return End(absl::InvalidArgumentError("the request is missing or too large, or does not parse"));
  }
  counted_->CountMessage();
  if (queue_.draining()) return End(absl::UnavailableError("the aggregator is shutting down"));
  const publish::SiteTable& sites = shared_.state.sites;
  site_ = sites.Find(request_.message.site());
  if (site_ == nullptr) return End(sites.Unknown(request_.message.site()));
  if (!(request_.message.max_rate_hz() >= 0)) {
    return End(absl::InvalidArgumentError(fmt::format(
        "max_rate_hz: {}, expected 0 (every slot) or a positive rate", request_.message.max_rate_hz())));
  }
  publish::SlotSelection selection{
      .subjects = {request_.message.subjects().begin(), request_.message.subjects().end()},
      .contributions = {}};
  if (request_.message.has_contributions()) selection.contributions = request_.message.contributions();
  absl::StatusOr<std::unique_ptr<publish::SlotView>> view =
      publish::SlotView::Create(site_->engine(), std::move(selection));
  if (!view.ok()) return End(view.status());
  view_ = *std::move(view);
  registered_ = queue_.Add(this);
  if (!registered_) return End(absl::ResourceExhaustedError("too many Watch streams"));
  // The policy may have changed since the gate admitted the call.
  if (absl::Status status = StillAdmitted(); !status.ok()) return End(std::move(status));
  {
    const runtime::MutexLock lock(mutex_);
    pending_.emplace(request_.message.max_rate_hz(), request_.message.has_contributions());
    writing_ = true;
  }
  site_->feed().Add(shared_from_this());
  context_.AddInitialMetadata(wire::kWatchAdmitted, "admitted");
  // Send the headers alone and at once. With a first message that has a buffer hint, gRPC would keep both
  // until another write, and would not report this write as done.
  stream_.SendInitialMetadata(&written_);
}

void WatchCall::OnSlots(std::span<const estimate::FusedSlot> slots) {
  const estimate::FusedSlot* first = nullptr;
  std::uint64_t skipped = 0;
  bool more = false;
  const std::int64_t share_interval_ns = shared_.readers.IntervalNs();
  {
    const runtime::MutexLock lock(mutex_);
    if (ending_ || !pending_) return;
    const std::uint64_t skipped_before = pending_->skipped_total();
    for (const estimate::FusedSlot& slot : slots) {
      if (!pending_->Admit(slot, share_interval_ns)) continue;
      if (!writing_) {
        writing_ = true;
        first = &slot;
        skipped = pending_->TakeSkipped();
      } else {
        pending_->Push(slot);
      }
    }
    more = !pending_->empty();
    const std::uint64_t newly_skipped = pending_->skipped_total() - skipped_before;
    if (newly_skipped > 0) shared_.skipped_slots.fetch_add(newly_skipped, std::memory_order_relaxed);
  }
  if (first != nullptr) Write(*first, skipped, more);
}

void WatchCall::Write(const estimate::FusedSlot& slot, std::uint64_t skipped, bool more) {
  const std::int64_t began_ns = shared_.state.clock.SteadyNs();
  view_->Write(slot, response_);
  response_.set_skipped_slots(skipped);
  if (described_) {
    wire::ClearDescription(response_);
  } else {
    wire::DescriptionToWire(site_->description(), response_);
    described_ = true;
  }
  // If another write follows at once, one system call carries both.
  grpc::WriteOptions options;
  if (more) options.set_buffer_hint();
  stream_.Write(response_, options, &written_);
  counted_->CountSent(static_cast<std::size_t>(response_.GetCachedSize()));
  const std::int64_t now_ns = shared_.state.clock.SteadyNs();
  shared_.readers.Spent(now_ns - began_ns, now_ns);
}

void WatchCall::OnWritten(bool ok) {
  std::optional<grpc::Status> finish;
  bool next = false;
  std::uint64_t skipped = 0;
  bool more = false;
  {
    const runtime::MutexLock lock(mutex_);
    if (!ok && !ending_) ending_ = absl::CancelledError("the watcher has gone");
    if (ok && !pending_->empty()) {
      next = true;
      next_ = pending_->front();
      pending_->Pop();
      skipped = pending_->TakeSkipped();
      more = !pending_->empty();
    } else if (ending_) {
      finishing_ = true;
      finish = wire::ToGrpcStatus(*ending_);
    }
    writing_ = next || finish.has_value();
  }
  if (next) return Write(next_, skipped, more);
  if (finish) return stream_.Finish(*finish, &finish_);
  ReleaseIfDone();
}

absl::Status WatchCall::StillAdmitted() const {
  access::AccessControl* const access = shared_.state.access;
  return access == nullptr ? absl::OkStatus() : access->CheckCall(access::kWatchPath, identity_);
}

void WatchCall::CheckAccess() {
  absl::Status status = StillAdmitted();
  if (status.ok()) return;
  shared_.state.access->CountRevoked();
  {
    const runtime::MutexLock lock(mutex_);
    if (ending_) return;
    if (pending_)
      pending_.emplace(request_.message.max_rate_hz(),
                       request_.message.has_contributions());  // what waits is not for it any more
    revoked_ = true;
  }
  End(std::move(status));
}

void WatchCall::CheckUp() {
  std::uint64_t skipped = 0;
  {
    const runtime::MutexLock lock(mutex_);
    if (revoked_ && writing_) context_.TryCancel();  // it does not read
    if (ending_ || writing_ || !pending_ || !pending_->TakeHeld(next_)) return;
    writing_ = true;
    skipped = pending_->TakeSkipped();
  }
  Write(next_, skipped, false);
}

void WatchCall::End(absl::Status status) {
  grpc::Status finish;
  {
    const runtime::MutexLock lock(mutex_);
    if (!ending_) ending_ = std::move(status);
    if (writing_ || finishing_) return;
    writing_ = finishing_ = true;
    finish = wire::ToGrpcStatus(*ending_);
  }
  stream_.Finish(finish, &finish_);
}

void WatchCall::Drain() { End(absl::UnavailableError("the aggregator is shutting down")); }

void WatchCall::OnFinished() {
  {
    const runtime::MutexLock lock(mutex_);
    writing_ = false;
  }
  ReleaseIfDone();
}

void WatchCall::OnDone() {
  {
    const runtime::MutexLock lock(mutex_);
    if (!ending_) ending_ = absl::CancelledError("the watcher has gone");
    done_ = true;
  }
  ReleaseIfDone();
}

void WatchCall::ReleaseIfDone() {
  {
    const runtime::MutexLock lock(mutex_);
    if (!done_ || writing_) return;
  }
  if (site_ != nullptr) site_->feed().Remove(this);
  if (registered_) queue_.Remove(this);
  self_.reset();
}

}  // namespace tributary::server
