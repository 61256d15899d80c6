// Operations on runs and models over HTTP.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>

#include "aggregator/learning/service/command_thread.h"
#include "aggregator/learning/service/operations.h"
#include "core/http/http_server.h"
#include "core/runtime/clock.h"

namespace tributary::learning {

// POST /api/v1/runs?check=          body: the run as TOML; 201 StartRunResponse. A fresh model is drawn from
//                                   client.seed. check=true starts nothing: {"ok": true}. 400 with one line
//                                   per fault: place, key, what is allowed
// POST /api/v1/runs/{run}/pause     PauseRunResponse; so do resume and stop; 404, 409
// DELETE /api/v1/runs/{run}         DeleteRunResponse; 409 if it has not ended
// GET /api/v1/models?run=&from_round=   ListModelsResponse
// GET /api/v1/models/{digest}.safetensors   the newest model of these parameters (SHA-256, hexadecimal)
// GET /api/v1/models/{digest}.onnx          the same for whoever runs it elsewhere; 400 if it is no encoder
// POST /api/v1/models/rollback?run=&round=  RollBackModelResponse
//
// The server's thread hands over and goes on: the answer comes from the coordinator's. Models are drawn and
// encoded on a thread of its own, a few at a time; beyond them 429.
class HttpOperations {
 public:
  static constexpr std::size_t kMostWaiting = 4;
  static constexpr std::size_t kMostConfigBytes = std::size_t{64} << 10;

  // Coordinator, audit log (null: none) and clock outlive it.
  HttpOperations(Coordinator& coordinator, access::AuditLog* audit, const runtime::Clock& clock);
  // After the server has stopped, before the coordinator.
  ~HttpOperations();

  // This outlives the server's thread.
  void AddRoutes(http::HttpServer& server);

 private:
  http::HttpAnswer StartRun(const http::HttpRequest& request);
  enum class ModelFormat { kSafetensors, kOnnx };
  http::HttpAnswer ReadModel(const http::HttpRequest& request, ModelFormat format);
  void Encode(OpenModel model, std::string run, std::string digest, const http::HttpPending::Done& done);
  http::HttpAnswer RollBack(const http::HttpRequest& request) const;
  // Has the own thread do it; false: enough is waiting for it already.
  bool Post(std::function<void()> work);

  const Operations operations_;
  std::atomic<std::size_t> waiting_ = 0;
  CommandThread thread_;
};

}  // namespace tributary::learning
