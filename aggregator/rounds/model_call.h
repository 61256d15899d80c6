// A model of the store, streamed to whoever asked for it.
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/server_callback.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "aggregator/grpc_call.h"
#include "aggregator/rounds/coordinator.h"
#include "core/parameters/crc32c.h"

namespace tributary {

// `Response` is FetchModelResponse or ReadModelResponse; `Head` fills what only the first one carries. One
// chunk is in memory at a time; the next is read from the disk when it has been sent.
template <class Response>
class ModelCall final : public grpc::ServerWriteReactor<Response>,
                        public std::enable_shared_from_this<ModelCall<Response>> {
 public:
  using Head = void (*)(const OpenModel& model, const std::string& run, Response& response);

  // The coordinator's answer is awaited by `Opened`.
  static std::shared_ptr<ModelCall> Make(std::string run, std::uint64_t offset, Head head) {
    auto call = std::shared_ptr<ModelCall>(new ModelCall(std::move(run), offset, head));
    call->self_ = call;
    return call;
  }

  void Opened(absl::StatusOr<OpenModel> model) {
    if (!model.ok()) return this->Finish(ToGrpcStatus(model.status()));
    model_.emplace(*std::move(model));
    head_(*model_, run_, response_);
    if (!SkipToOffset()) return;
    SendNext();
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return this->Finish(grpc::Status(grpc::StatusCode::CANCELLED, "the reader has gone"));
    response_.Clear();
    SendNext();
  }

  void OnDone() override { self_.reset(); }

 private:
  static constexpr std::size_t kChunkBytes = std::size_t{1} << 20;

  ModelCall(std::string run, std::uint64_t offset, Head head)
      : run_(std::move(run)), offset_(offset), head_(head) {}

  // Reads over what is not wanted, for the checksum is that of the whole file.
  bool SkipToOffset() {
    if (offset_ > model_->record.file.bytes) {
      this->Finish(grpc::Status(grpc::StatusCode::OUT_OF_RANGE, "offset: behind the end of the file"));
      return false;
    }
    std::string skipped;
    for (std::uint64_t left = offset_; left > 0; left -= skipped.size()) {
      skipped.resize(std::min<std::uint64_t>(left, kChunkBytes));
      const auto got = model_->file.Read(skipped.data(), skipped.size());
      if (got.ok()) continue;
      this->Finish(ToGrpcStatus(got.status()));
      return false;
    }
    return true;
  }

  void SendNext() {
    if (model_->file.remaining() == 0) return this->Finish(grpc::Status::OK);
    std::string& bytes = *response_.mutable_bytes();
    bytes.resize(kChunkBytes);
    const absl::StatusOr<std::size_t> got = model_->file.Read(bytes.data(), bytes.size());
    if (!got.ok()) return this->Finish(ToGrpcStatus(got.status()));
    bytes.resize(*got);
    response_.set_offset(offset_);
    response_.set_crc32c(Crc32c(bytes));
    offset_ += *got;
    this->StartWrite(&response_);
  }

  const std::string run_;
  std::uint64_t offset_;
  const Head head_;
  std::shared_ptr<ModelCall> self_;  // until OnDone
  std::optional<OpenModel> model_;
  Response response_;
};

}  // namespace tributary
