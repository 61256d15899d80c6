// A FusionService in this process whose behaviour a test sets: the peer of an uplink.
#pragma once

#include <grpcpp/server.h>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tributary/v1/fusion.grpc.pb.h"

namespace tributary::testing {

// The server's behaviour for every stream from now on.
struct ReportBehaviour {
  grpc::Status hello_status = {};  // if not OK: the server refuses the stream with it
  std::uint64_t slot_ns = 0;       // in the answer to the hello; 0: as an aggregator of an earlier version
  bool acknowledge = true;
  std::uint64_t frames_per_stream = UINT64_MAX;  // then the stream ends with `end_status`
  grpc::Status end_status{grpc::StatusCode::UNAVAILABLE, "ended by the test"};
  // Changes the answer to a message of frames.
  std::function<void(const v1::ReportRequest&, v1::ReportResponse&)> edit = {};
};

class ReportServer final : public v1::FusionService::Service {
 public:
  ~ReportServer() override { Stop(); }

  // Port 0: any, kept when the server is started again.
  void Start();
  // Cuts every stream.
  void Stop();
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  int port() const { return port_; }

  void Behave(ReportBehaviour behaviour);
  // While held, the server reads no stream.
  void Hold();
  void Release();

  // Distinct sequences received, and how often; over all streams and restarts.
  std::map<std::uint64_t, int> Arrived() const;
  std::vector<v1::Hello> Hellos() const;
  std::uint64_t DroppedFrames() const;  // as the sender last said
  std::uint64_t Messages() const;

 private:
  grpc::Status Report(grpc::ServerContext* context,
                      grpc::ServerReaderWriter<v1::ReportResponse, v1::ReportRequest>* stream) override;
  ReportBehaviour Behaviour() const;
  void WaitWhileHeld() const;

  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
  mutable std::mutex mutex_;
  mutable std::condition_variable released_;
  bool held_ = false;
  ReportBehaviour behaviour_;
  std::map<std::uint64_t, int> arrived_;
  std::map<std::string, std::uint64_t> acknowledged_;  // by boot id
  std::vector<v1::Hello> hellos_;
  std::uint64_t dropped_frames_ = 0;
  std::uint64_t messages_ = 0;
};

}  // namespace tributary::testing
