#include "aggregator/server/report_call.h"

#include <fmt/format.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <utility>

#include "aggregator/access/call_gate.h"
#include "aggregator/server/work_time.h"
#include "core/runtime/log.h"
#include "core/runtime/printable.h"
#include "core/wire/field_count.h"
#include "core/wire/hello_size.h"
#include "core/wire/node_status.h"
#include "core/wire/peer.h"
#include "core/wire/peer_address.h"

namespace tributary::server {
namespace {

// A peer must send its hello within this time.
constexpr std::int64_t kHelloTimeoutNs = 10'000'000'000;
// This many frames are acknowledged at once; fewer wait for the other streams (IngestQueue).
constexpr std::uint64_t kAnswerFrames = 64;

// Reading a larger one is timed, if no frame comes of it.
constexpr std::size_t kUsualBytes = std::size_t{4} << 10;
// A frame has nine; somebody's encoder may not pack the numbers of a few.
constexpr std::size_t kMaxFrameFields = std::size_t{16} * ReportSession::kMaxFrames;

// Sensors and checks of a status.
constexpr std::size_t kMaxPartFields = 4'096;

// Whether the message has more frames, or fields in them, than one may have, or more of a hello: nothing of
// it where one was given already.
bool HasMoreFields(grpc::ByteBuffer& bytes, bool admitted) {
  constexpr std::size_t kMaxFields =
      ReportSession::kMaxFrames + 2;  // the hello, or the dropped frames and the status
  if (bytes.Length() <= 2 * kMaxFields) return false;
  grpc::ProtoBufferReader reader(&bytes);
  return wire::HasMoreFields(reader, kMaxFields,
                             {{{.number = v1::ReportRequest::kFramesFieldNumber, .limit = kMaxFrameFields},
                               {.number = v1::ReportRequest::kStatusFieldNumber,
                                .limit = wire::kMostStatusFields,
                                .type = v1::NodeStatus::descriptor(),
                                .inner_limit = kMaxPartFields},
                               admitted ? wire::NestedFields{.number = v1::ReportRequest::kHelloFieldNumber}
                                        : wire::HelloFields()}});
}

}  // namespace

ReportCall::ReportCall(IngestQueue& queue) : queue_(queue), shared_(queue.context()) {}

ReportCall::~ReportCall() {
  if (registered_) queue_.Remove(this);
}

void ReportCall::Listen(IngestQueue& queue) {
  auto* call = new ReportCall(queue);
  queue.service().RequestReport(&call->context_, &call->stream_, queue.queue(), queue.queue(),
                                &call->started_);
}

void ReportCall::OnStarted(bool ok) {
  if (!ok) {
    delete this;  // the server is shutting down
    return;
  }
  Listen(queue_);
  started_steady_ns_ = shared_.state.clock.SteadyNs();
  std::optional<access::Peer> identity = access::PeerOf(*context_.auth_context(), shared_.state.access);
  counted_.emplace(shared_.connections, context_.peer(), identity ? identity->name : "").CountAsRare();
  peer_ = identity ? identity->name : wire::AddressOf(counted_->peer());
  session_.emplace(shared_.state, std::move(identity), peer_,
                   access::CertificateExpiryUnixNs(*context_.auth_context()));
  registered_ = true;
  queue_.Add(this);
  if (queue_.draining()) {
    End(absl::UnavailableError("the aggregator is shutting down"));
  } else {
    Read();
  }
}

void ReportCall::EndSilent() {
  End({StreamFault::kTooMany, absl::ResourceExhaustedError("too many Report streams without a hello")});
}

void ReportCall::Read() {
  reading_ = true;
  stream_.Read(&incoming_, &read_);
}

void ReportCall::OnRead(bool ok) {
  reading_ = false;
  if (finished_) return DeleteIfDone();
  if (ending_) return;
  if (!ok) {
    // The peer has closed its side or is gone; then the answer fails harmlessly.
    if (!session_->admitted()) counted_->CountAsReset(true);
    if (session_->unanswered() > 0) Answer();
    return End(absl::OkStatus());
  }
  counted_->CountMessage();
  const std::size_t bytes = incoming_.Length();
  const bool was_admitted = session_->admitted();
  const bool timed = !was_admitted || bytes > kUsualBytes;
  const fusion::FusionTime now = shared_.Now();
  const std::int64_t began_ns = timed ? ThreadProcessorNs() : 0;
  const std::optional<StreamRefusal> refusal = TakeMessage(now);
  // What frames cost their message pays for.
  if (timed && (!was_admitted || request_.frames_size() == 0))
    counted_->CountWork(std::chrono::nanoseconds(ThreadProcessorNs() - began_ns));
  if (was_admitted) {
    queue_.PublishFused(*session_->site());
  } else if (session_->admitted()) {
    counted_->CountAsReport();
    SayThatItCame();
    request_ = v1::ReportRequest();  // no hello comes again
    Answer();
  }
  if (request_room_.IsTooMuchWith(bytes)) request_ = v1::ReportRequest();
  if (refusal) return End(*refusal);
  if (session_->unanswered() >= kAnswerFrames || session_->pending_refusals() > 0) {
    Answer();
  } else {
    queue_.AnswerSoon(now.steady_ns);
  }
  // The slot may wait for the next message of this stream.
  if (session_->sources() > 1) return ReadOn();
  queue_.ReadSoon(this);
}

void ReportCall::ReadOn() {
  if (ending_ || reading_ || (writing_ && session_->pending_refusals() >= ReportSession::kMaxPendingRefusals))
    return;
  Read();
}

std::optional<StreamRefusal> ReportCall::TakeMessage(fusion::FusionTime now) {
  if (incoming_.Length() > shared_.max_message_bytes) {
    return StreamRefusal{StreamFault::kTooLarge, absl::ResourceExhaustedError(fmt::format(
                                                     "message: {} bytes, allowed are {}", incoming_.Length(),
                                                     shared_.max_message_bytes))};
  }
  if (!session_->admitted() &&
      (incoming_.Length() > wire::kMaxHelloBytes || HasMoreFields(incoming_, false))) {
    return StreamRefusal{StreamFault::kTooLarge, wire::TooLargeHello(incoming_.Length())};
  }
  if (session_->admitted() && HasMoreFields(incoming_, true)) {
    counted_->CountAsMalformed();
    return StreamRefusal{
        StreamFault::kTooLarge,
        absl::ResourceExhaustedError(
            fmt::format("message: more than {} frames, {} fields in them or {} in a status, or another hello",
                        ReportSession::kMaxFrames, kMaxFrameFields, kMaxPartFields))};
  }
  if (!grpc::SerializationTraits<v1::ReportRequest>::Deserialize(&incoming_, &request_).ok()) {
    return StreamRefusal{StreamFault::kMalformed,
                         absl::InvalidArgumentError("message: does not parse as a ReportRequest")};
  }
  if (session_->admitted() && request_.frames_size() == 0) counted_->CountAsEmpty();
  if (!has_place_) {
    has_place_ = queue_.TakePlace(this);
    if (!has_place_) {
      return StreamRefusal{StreamFault::kTooMany, absl::ResourceExhaustedError("too many Report streams")};
    }
  }
  return session_->Take(request_, now, queue_.fused(), [this] { queue_.PublishFused(*session_->site()); });
}

void ReportCall::Answer() {
  if (writing_ || finishing_ || session_->unanswered() == 0) return;
  session_->TakeAnswer(response_);
  grpc::ByteBuffer bytes;
  bool own = false;
  // Fails only for messages beyond 2 GiB.
  (void)grpc::SerializationTraits<v1::ReportResponse>::Serialize(response_, &bytes, &own);
  writing_ = true;
  stream_.Write(bytes, &written_);
}

void ReportCall::OnWritten(bool ok) {
  writing_ = false;
  if (!ok) End(absl::UnavailableError("the stream broke"));
  if (ending_) {
    FinishIfDue();
    return;
  }
  if (session_->unanswered() >= kAnswerFrames || session_->pending_refusals() > 0) Answer();
  queue_.ReadSoon(this);
}

void ReportCall::End(const StreamRefusal& refusal) {
  ++shared_.refusals[static_cast<std::size_t>(refusal.fault)];
  if (session_->admitted()) {
    refused_ = true;  // SayThatItLeft logs the reason
  } else if (const auto more = shared_.refusal_lines.Admit(shared_.state.clock.SteadyNs())) {
    runtime::LogWarning("report stream from {} refused: {}{}", context_.peer(),
                        std::string(refusal.status.message()), *more);
  }
  End(refusal.status);
}

void ReportCall::End(absl::Status status) {
  if (ending_) return;
  if (session_->admitted()) {
    if (session_->unanswered() > 0) Answer();
  } else if (!queue_.draining()) {
    counted_->CountAsFruitless();
  }
  session_->Leave();
  ending_ = std::move(status);
  FinishIfDue();
}

void ReportCall::FinishIfDue() {
  if (!ending_ || writing_ || finishing_) return;
  finishing_ = true;
  stream_.Finish(wire::ToGrpcStatus(*ending_), &finish_);
}

void ReportCall::OnFinished(bool ok) {
  finished_ = true;
  if (session_->admitted()) SayThatItLeft(ok);
  DeleteIfDone();
}

void ReportCall::DeleteIfDone() {
  if (finished_ && !reading_ && !writing_) delete this;
}

void ReportCall::SayThatItCame() {
  tried_to_say_ns_ = shared_.state.clock.SteadyNs();
  const auto more = session_->log_limit().Admit(tried_to_say_ns_);
  said_that_it_came_ = more.has_value();
  if (!more) return;
  runtime::LogInfo("{}: node \"{}\" reports from {} ({}){}{}", session_->site()->name(), session_->node(),
                   counted_->peer(), runtime::Counted(session_->sources(), "source"),
                   session_->superseded_another() ? ", superseding an earlier stream" : "", *more);
}

void ReportCall::SayThatItLeft(bool delivered) {
  const std::int64_t now_ns = shared_.state.clock.SteadyNs();
  const auto more = session_->log_limit().Admit(now_ns);
  if (!more) return;
  const bool lost = !delivered && !refused_;
  const std::string reason = lost            ? "the link was lost"
                             : ending_->ok() ? "it ended the stream itself"
                                             : std::string(ending_->message());
  runtime::Log(lost || refused_ ? runtime::LogLevel::kWarning : runtime::LogLevel::kInfo,
               "{}: node \"{}\" left after {:.1f} s, {} frames taken, {} refused: {}{}",
               session_->site()->name(), session_->node(),
               1e-9 * static_cast<double>(now_ns - started_steady_ns_), session_->taken_frames(),
               session_->refused_frames(), reason, *more);
}

void ReportCall::CheckAccess() {
  if (ending_) return;
  if (const std::optional<StreamRefusal> refusal = session_->CheckAccess()) End(*refusal);
}

void ReportCall::CheckUp(std::int64_t now_steady_ns) {
  if (ending_) return;
  if (!session_->admitted() && now_steady_ns - started_steady_ns_ > kHelloTimeoutNs) {
    End({StreamFault::kHelloTimeout, absl::DeadlineExceededError("hello: not given within 10 s")});
  } else if (session_->superseded()) {
    End(session_->Superseded());
  } else if (session_->admitted() && !said_that_it_came_ &&
             now_steady_ns - tried_to_say_ns_ > publish::NodeRecord::kLogIntervalNs) {
    SayThatItCame();  // so that the last line says how it is
  }
}

}  // namespace tributary::server
