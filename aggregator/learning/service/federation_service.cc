#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "aggregator/access/call_context.h"
#include "aggregator/access/early_call.h"
#include "aggregator/learning/run/messages.h"
#include "aggregator/learning/service/bounded_request.h"
#include "aggregator/learning/service/federation_wire.h"
#include "aggregator/learning/service/model_call.h"
#include "aggregator/learning/service/services.h"
#include "aggregator/learning/service/streaming_call.h"
#include "aggregator/learning/service/upload_pace.h"
#include "core/status/macros.h"
#include "core/wire/peer.h"
#include "core/wire/peer_address.h"
#include "tributary/v1/federation.grpc.pb.h"

namespace tributary::learning {
namespace {

using ServerContext = grpc::CallbackServerContext;
using UnaryReactor = grpc::ServerUnaryReactor;
using RunChange = std::function<absl::Status(Run&)>;

// One Participate stream. Notices come on the coordinator's thread and are written there and then unless a
// write is under way; then the latest waits. Lives until gRPC is done with it and the coordinator has let go
// of it.
class ParticipateCall final : public NewsCall<ParticipateCall, grpc::ByteBuffer>, public TaskSink {
 public:
  ParticipateCall(Coordinator& coordinator, ServerContext& context)
      : NewsCall(context), coordinator_(coordinator) {}

  static ParticipateCall* Start(Coordinator& coordinator, ServerContext& context,
                                const grpc::ByteBuffer& declaration) {
    const std::shared_ptr<ParticipateCall> call = Make(coordinator, context);
    absl::StatusOr<v1::ParticipateRequest> request = ParseStep<v1::ParticipateRequest>(declaration);
    if (!request.ok()) {
      ++coordinator.counters().refused_steps;
      access::CountMalformed(context);
    }
    absl::Status status = request.status();
    if (status.ok() && request->partial_sums()) status = access::AdmitChild(context);
    if (status.ok()) status = access::AdmitAs(context, request->node());
    if (status.ok()) status = CheckMessage(*request);
    if (status.ok()) {
      coordinator.Join(*std::move(request), call);
    } else {
      call->OnEnd(std::move(status));
    }
    return call.get();
  }

  void OnTask(v1::ParticipateResponse message) override {
    {
      const runtime::MutexLock lock(mutex_);
      if (ending_) return;
      pending_ = std::move(message);
    }
    Go();
  }

  void OnEnd(absl::Status status) override {
    {
      const runtime::MutexLock lock(mutex_);
      if (!ending_) ending_ = wire::ToGrpcStatus(status);
    }
    Go();
  }

  void OnDone() override {
    coordinator_.Leave(shared_from_this());
    StreamingCall::OnDone();
  }

 private:
  bool Next(grpc::ByteBuffer& response, std::optional<grpc::Status>& end) override REQUIRES(mutex_) {
    if (!pending_) {
      end = ending_;
      return false;
    }
    response.Clear();
    bool own = false;
    // Fails only for messages beyond 2 GiB.
    (void)grpc::SerializationTraits<v1::ParticipateResponse>::Serialize(*pending_, &response, &own);
    pending_.reset();
    return true;
  }

  Coordinator& coordinator_;
  std::optional<v1::ParticipateResponse> pending_ GUARDED_BY(mutex_);
  std::optional<grpc::Status> ending_ GUARDED_BY(mutex_);
};

// Whose share of places a call uses: that of its certificate's name, or without TLS of its address.
std::string OwnerOf(const ServerContext& call) {
  if (auto name = wire::PeerCertificateName(*call.auth_context())) return *std::move(name);
  return wire::AddressOf(wire::PeerOf(call.peer()));
}

// One SubmitUpdate stream. Chunks are checked and written to the store's file on gRPC's thread, one after the
// other; the coordinator decides before the first and after the last. The next chunk is read when the one
// before has been taken: a sender is held back by HTTP/2's flow control.
//
// A sender that lets IdleWatch::kIdle pass without a chunk is cut off: it holds one of the few places for
// uploads. So is one that is slow while somebody waits for its place.
class SubmitCall final : public StreamingCall<SubmitCall, grpc::ServerReadReactor<grpc::ByteBuffer>> {
 public:
  SubmitCall(Coordinator& coordinator, ServerContext& context, grpc::ByteBuffer* response)
      : coordinator_(coordinator),
        context_(context),
        response_(response),
        pace_(coordinator.chunk_time()),
        idle_(context, [this] { return TooSlow(); }) {}

  SubmitCall* Start() {
    idle_.Start(weak_from_this());
    StartRead(&incoming_);
    return this;
  }

  void OnReadDone(bool ok) override {
    idle_.Progress();
    if (!ok) return EndOfChunks();
    access::CountMessage(context_);
    if (absl::Status status = ParseBounded(
            incoming_, request_, kMaxUploadFields,
            {{{.number = v1::SubmitUpdateRequest::kHeaderFieldNumber, .limit = kMaxHeaderFields},
              {.number = v1::SubmitUpdateRequest::kChunkFieldNumber, .limit = kMaxChunkFields}}});
        !status.ok()) {
      return Refuse(Admission::Refused(v1::SUBMIT_REFUSAL_MALFORMED, "{}", std::string(status.message())));
    }
    begun_.upload == nullptr ? TakeHeader() : TakeChunk();
  }

  void OnDone() override {
    idle_.Stop();
    StreamingCall::OnDone();
  }

 private:
  void TakeHeader() {
    if (!request_.has_header() || request_.has_chunk()) {
      return Refuse(Admission::Refused(v1::SUBMIT_REFUSAL_MALFORMED,
                                       "the first message must carry the header and nothing else"));
    }
    v1::UpdateHeader& header = *request_.mutable_header();
    run_ = header.run();
    if (absl::Status status = CheckMessage(header); !status.ok()) {
      return Refuse(Admission::Refused(v1::SUBMIT_REFUSAL_MALFORMED, "{}", std::string(status.message())));
    }
    if (!header.contributors().empty()) {
      if (absl::Status status = access::AdmitChild(context_); !status.ok()) {
        return Refuse(
            Admission::Refused(v1::SUBMIT_REFUSAL_CONTRIBUTORS, "{}", std::string(status.message())));
      }
    }
    if (absl::Status status = access::AdmitAs(context_, header.node()); !status.ok()) {
      return Refuse(Admission::Refused(v1::SUBMIT_REFUSAL_IDENTITY, "{}", std::string(status.message())));
    }
    idle_.Excuse(true);
    coordinator_.BeginUpload(run_, OwnerOf(context_), std::move(header),
                             [call = shared_from_this()](Coordinator::Began began) {
                               call->idle_.Progress();
                               call->idle_.Excuse(false);
                               if (const auto* answer = std::get_if<Admission>(&began))
                                 return call->Answer(*answer);
                               call->begun_ = std::get<BegunUpload>(std::move(began));
                               call->place_ = call->begun_.place;
                               call->pace_.Begin(call->coordinator_.NowNs());
                               call->StartRead(&call->incoming_);
                             });
  }

  void TakeChunk() {
    if (request_.has_header() || !request_.has_chunk()) {
      return Refuse(
          Admission::Refused(v1::SUBMIT_REFUSAL_MALFORMED, "a message behind the first must carry a chunk"));
    }
    pace_.Take(request_.chunk().ByteSizeLong());
    if (auto refusal = begun_.upload->Take(request_.chunk())) return Refuse(*refusal);
    StartRead(&incoming_);
  }

  // Any thread.
  bool TooSlow() {
    if (!pace_.TooSlow(coordinator_.NowNs())) return too_slow_;
    const Gate::Place place = place_.lock();
    if (place != nullptr && place->waited_for()) too_slow_ = true;
    return too_slow_;
  }

  void EndOfChunks() {
    if (begun_.upload == nullptr) {
      return Refuse(Admission::Refused(v1::SUBMIT_REFUSAL_MALFORMED, "the header is missing"));
    }
    if (too_slow_) {
      return Refuse(Admission::TryAgain(v1::SUBMIT_REFUSAL_BUSY,
                                        "others waited for its place, and fewer than {} "
                                        "bytes came in a second",
                                        pace_.least_bytes()));
    }
    if (auto refusal = begun_.upload->Finish()) return Refuse(*refusal);
    idle_.Excuse(true);
    coordinator_.Submit(run_, std::move(begun_),
                        [call = shared_from_this()](const Admission& answer) { call->Answer(answer); });
  }

  void Refuse(const Admission& refusal) {
    coordinator_.counters().CountRefused(refusal.reason);
    // Before the answer: the node may come again at once.
    if (begun_.upload != nullptr) coordinator_.GiveUp(run_, std::move(begun_), refusal.reason);
    Answer(refusal);
  }

  void Answer(const Admission& answer) {
    bool own = false;
    Finish(grpc::SerializationTraits<v1::SubmitUpdateResponse>::Serialize(AnswerToWire(answer), response_,
                                                                          &own));
  }

  Coordinator& coordinator_;
  ServerContext& context_;
  grpc::ByteBuffer* const response_;
  grpc::ByteBuffer incoming_;
  v1::SubmitUpdateRequest request_;  // reused
  std::string run_;
  BegunUpload begun_;                           // without an upload until the coordinator has admitted it
  std::weak_ptr<const FairQueue::Held> place_;  // set before the pace begins
  UploadPace pace_;
  std::atomic<bool> too_slow_ = false;
  IdleWatch idle_;
};

// What nodes say in one message is raw, so that its size can be judged before it is parsed.
template <class Base>
using WithRawSteps = v1::FederationService::WithRawCallbackMethod_DeclineTask<
    v1::FederationService::WithRawCallbackMethod_AdvertiseKeys<
        v1::FederationService::WithRawCallbackMethod_ShareKeys<
            v1::FederationService::WithRawCallbackMethod_Unmask<
                v1::FederationService::WithRawCallbackMethod_SubmitUpdate<
                    v1::FederationService::WithRawCallbackMethod_Participate<Base>>>>>>;
using FederationCalls =
    v1::FederationService::WithCallbackMethod_FetchModel<WithRawSteps<v1::FederationService::Service>>;

class FederationService final : public access::EarlyService<v1::FederationService, FederationCalls> {
 public:
  explicit FederationService(Coordinator& coordinator) : coordinator_(coordinator) {
    BeginsEarly("Participate", &FederationService::Participate);
    BeginsEarly("FetchModel", &FederationService::FetchModel);
    BeginsEarly("DeclineTask", &FederationService::DeclineTask);
    BeginsEarly("AdvertiseKeys", &FederationService::AdvertiseKeys);
    BeginsEarly("ShareKeys", &FederationService::ShareKeys);
    BeginsEarly("Unmask", &FederationService::Unmask);
  }

  grpc::ServerWriteReactor<grpc::ByteBuffer>* Participate(ServerContext* context,
                                                          const grpc::ByteBuffer* request) override {
    return ParticipateCall::Start(coordinator_, *context, *request);
  }

  grpc::ServerWriteReactor<v1::FetchModelResponse>* FetchModel(
      ServerContext* context, const v1::FetchModelRequest* request) override {
    const auto call = ModelCall<v1::FetchModelResponse>::Make(
        *context, request->run(), request->offset(),
        [](const OpenModel& model, const std::string&, v1::FetchModelResponse& response) {
          response.set_file_bytes(model.record.file.bytes);
          response.set_sha256(model.record.sha256);
        });
    if (absl::Status status = access::AdmitAs(*context, request->node()); !status.ok()) {
      call->Opened(status);
    } else {
      coordinator_.OpenRoundModel(
          request->run(), OwnerOf(*context), request->node(), request->round(),
          [call](absl::StatusOr<OpenModel> model) { call->Opened(std::move(model)); });
    }
    return call.get();
  }

  grpc::ServerReadReactor<grpc::ByteBuffer>* SubmitUpdate(ServerContext* context,
                                                          grpc::ByteBuffer* response) override {
    return SubmitCall::Make(coordinator_, *context, response)->Start();
  }

  UnaryReactor* DeclineTask(ServerContext* context, const grpc::ByteBuffer* request,
                            grpc::ByteBuffer* response) override {
    return Tell<v1::DeclineTaskRequest, v1::DeclineTaskResponse>(
        *context, *request, *response,
        [this](v1::DeclineTaskRequest decline) { return Decline(std::move(decline)); });
  }

  UnaryReactor* AdvertiseKeys(ServerContext* context, const grpc::ByteBuffer* request,
                              grpc::ByteBuffer* response) override {
    return TellStep<v1::AdvertiseKeysRequest, v1::AdvertiseKeysResponse>(*context, *request, *response);
  }

  UnaryReactor* ShareKeys(ServerContext* context, const grpc::ByteBuffer* request,
                          grpc::ByteBuffer* response) override {
    return TellStep<v1::ShareKeysRequest, v1::ShareKeysResponse>(*context, *request, *response);
  }

  UnaryReactor* Unmask(ServerContext* context, const grpc::ByteBuffer* request,
                       grpc::ByteBuffer* response) override {
    return TellStep<v1::UnmaskRequest, v1::UnmaskResponse>(*context, *request, *response);
  }

 private:
  // Tells the run what the node says. A refusal is an answer, not an error of the call.
  template <class Request, class Response, class MakeChange>
  UnaryReactor* Tell(ServerContext& context, const grpc::ByteBuffer& bytes, grpc::ByteBuffer& response,
                     const MakeChange& make_change) {
    UnaryReactor* reactor = context.DefaultReactor();
    const auto answer = [reactor, &response](const absl::Status& status) {
      Response message;
      message.set_accepted(status.ok());
      message.set_message(std::string(status.message()));
      bool own = false;
      reactor->Finish(grpc::SerializationTraits<Response>::Serialize(message, &response, &own));
    };
    absl::StatusOr<Request> request = ParseStep<Request>(bytes);
    absl::Status status = request.status();
    if (!status.ok()) {
      ++coordinator_.counters().refused_steps;
      access::CountMalformed(context);
    }
    if (status.ok()) status = access::CheckNotRevoked(context);
    if (status.ok()) status = access::AdmitAs(context, request->node());
    if (!status.ok()) {
      answer(status);
      return reactor;
    }
    std::string run = request->run();
    absl::StatusOr<RunChange> change = make_change(*std::move(request));
    if (change.ok()) {
      coordinator_.Change(std::move(run), *std::move(change), answer);
    } else {
      answer(change.status());
    }
    return reactor;
  }

  template <class Request, class Response>
  UnaryReactor* TellStep(ServerContext& context, const grpc::ByteBuffer& bytes, grpc::ByteBuffer& response) {
    return Tell<Request, Response>(context, bytes, response,
                                   [this](const Request& step) { return Take(StepFromWire(step)); });
  }

  absl::StatusOr<RunChange> Decline(v1::DeclineTaskRequest decline) {
    RETURN_IF_ERROR(CheckMessage(decline));
    return [this, decline = std::move(decline)](Run& run) {
      const absl::StatusOr<bool> news = run.Decline(decline);
      if (news.ok() && *news) ++coordinator_.counters().declined[static_cast<std::size_t>(decline.reason())];
      return news.status();
    };
  }

  // A step of secure aggregation.
  absl::StatusOr<RunChange> Take(absl::StatusOr<MaskingMessage> step) {
    if (!step.ok()) return step.status();
    return [this, message = *std::move(step)](Run& run) {
      absl::Status status = run.Take(message);
      if (absl::IsInvalidArgument(status)) ++coordinator_.counters().refused_steps;
      return status;
    };
  }

  Coordinator& coordinator_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeFederationService(Coordinator& coordinator) {
  return std::make_unique<FederationService>(coordinator);
}

}  // namespace tributary::learning
