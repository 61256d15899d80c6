// One gRPC call by its path, whatever its service: for tests that ask the same of every call.
#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace tributary::testing {

// Sends one message and reads one. One thread's.
class RawCall {
 public:
  // `half_close`: the peer says that nothing follows.
  RawCall(const std::shared_ptr<grpc::Channel>& channel, const std::string& path, const std::string& message,
          bool half_close, std::chrono::milliseconds limit)
      : stub_(channel) {
    context_.set_wait_for_ready(true);
    context_.set_deadline(std::chrono::system_clock::now() + limit);
    stream_ = stub_.PrepareCall(&context_, path, &queue_);
    stream_->StartCall(this);
    if (!Next()) return;
    const grpc::Slice slice(message);
    const grpc::ByteBuffer bytes(&slice, 1);
    if (half_close) {
      stream_->WriteLast(bytes, grpc::WriteOptions(), this);
    } else {
      stream_->Write(bytes, this);
    }
    Next();
  }
  ~RawCall() {
    context_.TryCancel();
    if (!status_) End();
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
  }

  // The next message; nothing if the stream has ended.
  std::optional<std::string> Read() {
    grpc::ByteBuffer bytes;
    stream_->Read(&bytes, this);
    if (!Next()) return std::nullopt;
    grpc::Slice slice;
    if (!bytes.DumpToSingleSlice(&slice).ok()) return std::nullopt;
    return std::string(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  void Cancel() { context_.TryCancel(); }
  // The status that ended the stream; waits for it.
  const grpc::Status& End() {
    if (!status_) {
      status_.emplace();
      stream_->Finish(&*status_, this);
      Next();
    }
    return *status_;
  }

 private:
  bool Next() {
    void* tag = nullptr;
    bool ok = false;
    return queue_.Next(&tag, &ok) && ok;
  }

  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
  std::optional<grpc::Status> status_;
};

}  // namespace tributary::testing
