// One SubmitUpdate stream.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "aggregator/learning/service/coordinator.h"
#include "core/runtime/mutex.h"
#include "tributary/v1/federation.pb.h"

namespace tributary::learning {

// Chunks are checked and written to the store's file on gRPC's thread, one after the other; the coordinator
// decides before the first and after the last. The next chunk is read when the one before has been taken: a
// sender is held back by HTTP/2's flow control.
//
// A sender that lets kIdleNs pass without a chunk is cut off: it holds one of the few places for uploads.
class SubmitCall final : public grpc::ServerReadReactor<v1::SubmitUpdateRequest>,
                         public std::enable_shared_from_this<SubmitCall> {
 public:
  static constexpr std::int64_t kIdleNs = 20'000'000'000;

  static SubmitCall* Start(Coordinator& coordinator, grpc::CallbackServerContext& context,
                           v1::SubmitUpdateResponse* response);

  void OnReadDone(bool ok) override;
  void OnDone() override;

 private:
  SubmitCall(Coordinator& coordinator, grpc::CallbackServerContext& context,
             v1::SubmitUpdateResponse* response)
      : coordinator_(coordinator), context_(context), response_(response) {}

  void TakeHeader();
  void TakeChunk();
  void EndOfChunks();
  void Answer(const Admission& answer);
  void Refuse(const UploadRefusal& refusal);
  void WatchIdleness();

  Coordinator& coordinator_;
  grpc::CallbackServerContext& context_;
  v1::SubmitUpdateResponse* const response_;
  std::shared_ptr<SubmitCall> self_;  // until OnDone
  v1::SubmitUpdateRequest request_;   // reused
  std::string run_;
  BegunUpload begun_;                  // without an upload until the coordinator has admitted it
  std::atomic<bool> waiting_ = false;  // for its turn: that is not the sender's fault
  grpc::Alarm alarm_;
  std::atomic<std::uint64_t> progress_ = 0;  // chunks
  std::uint64_t seen_progress_ = 0;
  runtime::Mutex mutex_;
  bool done_ GUARDED_BY(mutex_) = false;  // the context is gone
};

}  // namespace tributary::learning
