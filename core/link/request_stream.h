// A call that sends many requests and gets one answer.
#pragma once

#include <grpcpp/completion_queue.h>
#include <grpcpp/support/async_stream.h>

#include <memory>

namespace tributary::link {

// gRPC's blocking writer aborts the process if it cannot read the answer. This one, which blocks as well,
// reports it. One thread uses it; cancelling the call's context ends each wait.
template <class Request>
class RequestStream {
 public:
  // `start` starts the call on the queue it is given and returns its writer.
  template <class Start>
  explicit RequestStream(const Start& start) : writer_(start(&queue_)), open_(Completed()) {}

  // False once the answer is there already or the connection is lost: Finish tells which.
  bool Write(const Request& request) {
    if (!open_) return false;
    writer_->Write(request, nullptr);
    return open_ = Completed();
  }
  bool open() const { return open_; }

  // Awaits the answer. DataLoss if it cannot be read.
  grpc::Status Finish() {
    if (open_) {
      writer_->WritesDone(nullptr);
      Completed();
    }
    grpc::Status ended;
    writer_->Finish(&ended, nullptr);
    if (Completed() || !ended.ok()) return ended;
    return {grpc::StatusCode::DATA_LOSS, "the aggregator's answer cannot be read"};
  }

 private:
  bool Completed() {
    void* tag = nullptr;
    bool ok = false;
    return queue_.Next(&tag, &ok) && ok;
  }

  grpc::CompletionQueue queue_;
  const std::unique_ptr<grpc::ClientAsyncWriter<Request>> writer_;
  bool open_;
};

}  // namespace tributary::link
