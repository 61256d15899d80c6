// A model of the store, streamed to whoever asked for it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "aggregator/access/call_context.h"
#include "aggregator/learning/service/coordinator.h"
#include "aggregator/learning/service/streaming_call.h"
#include "core/parameters/crc32c.h"
#include "core/wire/peer.h"

namespace tributary::learning {

// `Response` is FetchModelResponse or ReadModelResponse; `Head` fills what only the first one carries. One
// chunk is in memory at a time; the next is read from the disk when it has been sent. A reader that takes
// none for IdleWatch::kIdle is cut off: it holds one of the places for open models.
template <class Response>
class ModelCall final : public StreamingCall<ModelCall<Response>, grpc::ServerWriteReactor<Response>> {
 public:
  using Head = void (*)(const OpenModel& model, const std::string& run, Response& response);

  // The coordinator's answer is awaited by `Opened`.
  ModelCall(grpc::CallbackServerContext& context, std::string run, std::uint64_t offset, Head head)
      : context_(context), run_(std::move(run)), offset_(offset), head_(head), idle_(context) {}

  void Opened(absl::StatusOr<OpenModel> model) {
    if (!model.ok()) return this->Finish(wire::ToGrpcStatus(model.status()));
    model_.emplace(*std::move(model));
    head_(*model_, run_, response_);
    if (offset_ > model_->record.file.bytes) {
      return this->Finish(grpc::Status(grpc::StatusCode::OUT_OF_RANGE, "offset: behind the end of the file"));
    }
    // This is the coordinator's thread: it must not read what is not wanted, only to check it.
    if (absl::Status status = model_->file.Skip(offset_); !status.ok()) {
      return this->Finish(wire::ToGrpcStatus(status));
    }
    // A slow reader can only resume behind a whole chunk.
    idle_.DoubleFirstPatience();
    idle_.Start(this->weak_from_this());
    SendNext();
  }

  void OnWriteDone(bool ok) override {
    idle_.Progress();
    if (!ok) return this->Finish(grpc::Status(grpc::StatusCode::CANCELLED, "the reader has gone"));
    response_.Clear();
    SendNext();
  }

  void OnDone() override {
    idle_.Stop();
    ModelCall::StreamingCall::OnDone();
  }

 private:
  void SendNext() {
    if (model_->file.remaining() == 0) return this->Finish(grpc::Status::OK);
    std::string& bytes = *response_.mutable_bytes();
    bytes.resize(std::min<std::uint64_t>(kReadChunkBytes, model_->file.remaining()));
    const absl::StatusOr<std::size_t> got = model_->file.Read(bytes.data(), bytes.size());
    if (!got.ok()) return this->Finish(wire::ToGrpcStatus(got.status()));
    bytes.resize(*got);
    response_.set_offset(offset_);
    response_.set_crc32c(parameters::Crc32c(bytes));
    offset_ += *got;
    access::CountTold(context_, *got);
    if (model_->file.remaining() > 0) return this->StartWrite(&response_);
    this->StartWriteAndFinish(&response_, grpc::WriteOptions(), grpc::Status::OK);
  }

  grpc::CallbackServerContext& context_;
  const std::string run_;
  std::uint64_t offset_;
  const Head head_;
  std::optional<OpenModel> model_;
  Response response_;
  IdleWatch idle_;
};

}  // namespace tributary::learning
