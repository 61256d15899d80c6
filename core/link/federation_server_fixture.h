// A FederationService whose answers a test sets.
#pragma once

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "core/parameters/crc32c.h"
#include "tributary/v1/federation.grpc.pb.h"

namespace tributary::testing {

// Serves one node on a port of its own. Every pushed task goes to the present stream and to the next ones.
class FakeFederation final : public v1::FederationService::Service {
 public:
  FakeFederation() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~FakeFederation() override {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    changed_.notify_all();
    server_->Shutdown(std::chrono::system_clock::now());
  }

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  void Push(const v1::ParticipateResponse& task) {
    const std::lock_guard lock(mutex_);
    task_ = task;
    ++pushed_;
    changed_.notify_all();
  }
  // The next streams get only what is pushed from now on.
  void Forget() {
    const std::lock_guard lock(mutex_);
    pushed_ = 0;
  }
  void EndStreams() {
    const std::lock_guard lock(mutex_);
    ++epoch_;
    changed_.notify_all();
  }

  // Tests set these before and read them after.
  std::string model;
  std::size_t chunk_bytes = 1000;
  int break_fetches = 0;  // this many fetches end with UNAVAILABLE after one chunk
  bool damage_chunks = false;
  int break_submissions = 0;      // this many end with UNAVAILABLE after everything has arrived
  bool hold_submissions = false;  // reads nothing until the client goes
  bool hold_answers = false;      // reads everything, answers once this is false (Answer())
  v1::SubmitUpdateResponse answer;
  int try_again_answers = 0;
  std::vector<v1::ParticipateRequest> participations;
  std::vector<std::uint64_t> fetch_offsets;
  std::vector<std::vector<v1::SubmitUpdateRequest>> submissions;  // each with its header first
  bool break_steps = false;  // of secure aggregation: these calls end with UNAVAILABLE
  bool accept_steps = true;
  std::vector<v1::AdvertiseKeysRequest> keys;
  std::vector<v1::ShareKeysRequest> shares;
  std::vector<v1::UnmaskRequest> revealed;
  std::vector<v1::DeclineTaskRequest> declines;
  int break_declines = 0;          // this many end with UNAVAILABLE
  bool knows_no_declines = false;  // as an older aggregator
  std::vector<std::string> wire;   // every request, as it was serialised

  grpc::Status Participate(grpc::ServerContext* context, const v1::ParticipateRequest* request,
                           grpc::ServerWriter<v1::ParticipateResponse>* writer) override {
    std::unique_lock lock(mutex_);
    participations.push_back(*request);
    wire.push_back(request->SerializeAsString());
    const int epoch = epoch_;
    int sent = 0;
    while (!closing_ && epoch == epoch_ && !context->IsCancelled()) {
      if (sent < pushed_) {
        sent = pushed_;
        const v1::ParticipateResponse task = task_;
        lock.unlock();
        writer->Write(task);
        lock.lock();
        continue;
      }
      changed_.wait_for(lock, std::chrono::milliseconds(20));
    }
    return grpc::Status::OK;
  }

  grpc::Status FetchModel(grpc::ServerContext*, const v1::FetchModelRequest* request,
                          grpc::ServerWriter<v1::FetchModelResponse>* writer) override {
    const std::lock_guard lock(mutex_);
    fetch_offsets.push_back(request->offset());
    wire.push_back(request->SerializeAsString());
    for (std::size_t first = request->offset(); first < model.size(); first += chunk_bytes) {
      v1::FetchModelResponse chunk;
      chunk.set_offset(first);
      chunk.set_bytes(model.substr(first, chunk_bytes));
      chunk.set_crc32c(parameters::Crc32c(chunk.bytes()) ^ (damage_chunks ? 1U : 0U));
      writer->Write(chunk);
      if (break_fetches > 0) {
        --break_fetches;
        return {grpc::StatusCode::UNAVAILABLE, "broken off"};
      }
    }
    return grpc::Status::OK;
  }

  grpc::Status SubmitUpdate(grpc::ServerContext* context, grpc::ServerReader<v1::SubmitUpdateRequest>* reader,
                            v1::SubmitUpdateResponse* response) override {
    std::unique_lock lock(mutex_);
    submissions.emplace_back();
    changed_.notify_all();
    while (hold_submissions && !closing_ && !context->IsCancelled()) {
      changed_.wait_for(lock, std::chrono::milliseconds(5));
    }
    v1::SubmitUpdateRequest request;
    while (reader->Read(&request)) {
      submissions.back().push_back(request);
      wire.push_back(request.SerializeAsString());
    }
    ++received_;
    while (hold_answers && !closing_ && !context->IsCancelled()) {
      changed_.wait_for(lock, std::chrono::milliseconds(5));
    }
    if (break_submissions > 0) {
      --break_submissions;
      return {grpc::StatusCode::UNAVAILABLE, "broken off"};
    }
    *response = answer;
    if (try_again_answers > 0) {
      --try_again_answers;
      response->set_accepted(false);
      response->set_try_again(true);
    }
    return grpc::Status::OK;
  }

  grpc::Status DeclineTask(grpc::ServerContext*, const v1::DeclineTaskRequest* request,
                           v1::DeclineTaskResponse* response) override {
    const std::lock_guard lock(mutex_);
    wire.push_back(request->SerializeAsString());
    if (knows_no_declines) return {grpc::StatusCode::UNIMPLEMENTED, ""};
    declines.push_back(*request);
    if (break_declines > 0) {
      --break_declines;
      return {grpc::StatusCode::UNAVAILABLE, "broken off"};
    }
    response->set_accepted(true);
    return grpc::Status::OK;
  }

  grpc::Status AdvertiseKeys(grpc::ServerContext*, const v1::AdvertiseKeysRequest* request,
                             v1::AdvertiseKeysResponse* response) override {
    return TakeStep(*request, keys, *response);
  }
  grpc::Status ShareKeys(grpc::ServerContext*, const v1::ShareKeysRequest* request,
                         v1::ShareKeysResponse* response) override {
    return TakeStep(*request, shares, *response);
  }
  grpc::Status Unmask(grpc::ServerContext*, const v1::UnmaskRequest* request,
                      v1::UnmaskResponse* response) override {
    return TakeStep(*request, revealed, *response);
  }

  // What tests read while calls run.
  std::size_t steps() {  // requests of AdvertiseKeys, ShareKeys and Unmask
    return Locked([this] { return keys.size() + shares.size() + revealed.size(); });
  }
  v1::AdvertiseKeysRequest last_keys() {
    return Locked([this] { return keys.back(); });
  }
  std::size_t share_requests() {
    return Locked([this] { return shares.size(); });
  }
  std::size_t fetches() {
    return Locked([this] { return fetch_offsets.size(); });
  }
  std::size_t submission_count() {
    return Locked([this] { return submissions.size(); });
  }
  // Submissions that have arrived completely.
  std::size_t received() {
    return Locked([this] { return received_; });
  }
  void MendSteps() {
    Locked([this] { break_steps = false; });
  }
  void Answer() {
    Locked([this] { hold_answers = false; });
    changed_.notify_all();
  }

  // The last one, once this many have arrived.
  v1::DeclineTaskRequest AwaitDecline(std::size_t count = 1) {
    for (;;) {
      {
        const std::lock_guard lock(mutex_);
        if (declines.size() >= count) return declines.back();
      }
      std::this_thread::yield();
    }
  }

 private:
  template <class Do>
  std::invoke_result_t<Do> Locked(Do act) {
    const std::lock_guard lock(mutex_);
    return act();
  }

  template <class Request, class Response>
  grpc::Status TakeStep(const Request& request, std::vector<Request>& all, Response& response) {
    const std::lock_guard lock(mutex_);
    all.push_back(request);
    wire.push_back(request.SerializeAsString());
    if (break_steps) return {grpc::StatusCode::UNAVAILABLE, "broken off"};
    response.set_accepted(accept_steps);
    return grpc::Status::OK;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool closing_ = false;
  int epoch_ = 0;
  int pushed_ = 0;
  std::size_t received_ = 0;
  v1::ParticipateResponse task_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

// A task for the model that FakeFederation::model holds.
inline v1::ParticipateResponse TrainResponse(std::uint32_t round, std::size_t elements,
                                             std::size_t model_bytes) {
  v1::ParticipateResponse response;
  response.set_run("run");
  v1::TrainTask& task = *response.mutable_train();
  task.set_round(round);
  task.set_deadline_unix_ns(4'000'000'000'000'000'000);
  task.set_left_ns(3'600'000'000'000);
  task.set_model_sha256(std::string(32, 'm'));
  task.set_schema_sha256(std::string(32, 's'));
  task.set_model_bytes(model_bytes);
  task.set_element_count(elements);
  task.set_fraction_bits(20);
  task.set_max_element(512);
  v1::ClientSettings& settings = *task.mutable_settings();
  settings.set_workload("self_supervised");
  settings.set_local_steps(2);
  settings.set_batch(8);
  settings.set_learning_rate(0.5);
  settings.set_momentum(0.9);
  settings.set_encoding(v1::UPDATE_ENCODING_FLOAT32);
  return response;
}

}  // namespace tributary::testing
