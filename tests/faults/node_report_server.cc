#include "tests/faults/node_report_server.h"

#include <grpcpp/server_builder.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace tributary::testing {

void ReportServer::Start() {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:" + std::to_string(port_), grpc::InsecureServerCredentials(), &port_);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 500);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
}

void ReportServer::Stop() {
  Release();
  if (server_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
  server_.reset();
}

void ReportServer::Behave(ReportBehaviour behaviour) {
  const std::lock_guard lock(mutex_);
  behaviour_ = std::move(behaviour);
}

void ReportServer::Hold() {
  const std::lock_guard lock(mutex_);
  held_ = true;
}

void ReportServer::Release() {
  {
    const std::lock_guard lock(mutex_);
    held_ = false;
  }
  released_.notify_all();
}

std::map<std::uint64_t, int> ReportServer::Arrived() const {
  const std::lock_guard lock(mutex_);
  return arrived_;
}

std::vector<v1::Hello> ReportServer::Hellos() const {
  const std::lock_guard lock(mutex_);
  return hellos_;
}

std::uint64_t ReportServer::DroppedFrames() const {
  const std::lock_guard lock(mutex_);
  return dropped_frames_;
}

std::uint64_t ReportServer::Messages() const {
  const std::lock_guard lock(mutex_);
  return messages_;
}

ReportBehaviour ReportServer::Behaviour() const {
  const std::lock_guard lock(mutex_);
  return behaviour_;
}

void ReportServer::WaitWhileHeld() const {
  std::unique_lock lock(mutex_);
  released_.wait(lock, [this] { return !held_; });
}

grpc::Status ReportServer::Report(grpc::ServerContext*,
                                  grpc::ServerReaderWriter<v1::ReportResponse, v1::ReportRequest>* stream) {
  v1::ReportRequest request;
  if (!stream->Read(&request)) return grpc::Status::OK;
  const std::string boot_id = request.hello().boot_id();
  v1::ReportResponse response;
  {
    const std::lock_guard lock(mutex_);
    hellos_.push_back(request.hello());
    response.set_acknowledged_sequence(acknowledged_[boot_id]);
  }
  if (const grpc::Status status = Behaviour().hello_status; !status.ok()) return status;
  response.set_slot_ns(Behaviour().slot_ns);
  stream->Write(response);

  std::uint64_t frames = 0;
  for (;;) {
    WaitWhileHeld();
    if (!stream->Read(&request)) return grpc::Status::OK;
    const ReportBehaviour behaviour = Behaviour();
    {
      const std::lock_guard lock(mutex_);
      ++messages_;
      dropped_frames_ = request.dropped_frames();
      for (const v1::Frame& frame : request.frames()) {
        ++arrived_[frame.sequence()];
        if (behaviour.acknowledge) {
          acknowledged_[boot_id] = std::max(acknowledged_[boot_id], frame.sequence());
        }
      }
      frames += static_cast<std::uint64_t>(request.frames_size());
      response.Clear();
      response.set_acknowledged_sequence(acknowledged_[boot_id]);
    }
    if (behaviour.edit) behaviour.edit(request, response);
    if (behaviour.acknowledge || behaviour.edit) stream->Write(response);
    if (frames >= behaviour.frames_per_stream) return behaviour.end_status;
  }
}

}  // namespace tributary::testing
