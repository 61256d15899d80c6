#include "aggregator/learning/service/http_operations.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "aggregator/access/http_access.h"
#include "aggregator/learning/run/messages.h"
#include "aggregator/learning/service/model_budget.h"
#include "aggregator/learning/service/model_download.h"
#include "aggregator/learning/service/run_api.h"
#include "core/learning/fresh_model.h"
#include "core/learning/run_config.h"
#include "core/wire/json.h"

namespace tributary::learning {
namespace {

using http::HttpMethod;
using http::HttpPending;
using http::HttpRequest;

// "run" stands for the file's name in the faults: they say "run:3: rounds: …".
constexpr std::string_view kBodyName = "run";

template <class Response>
Operations::Done AnswerWith(HttpPending::Done done, int status = 200) {
  return [done = std::move(done), status](absl::StatusOr<v1::Run> run) {
    if (!run.ok()) return done(http::HttpProblem(run.status()));
    Response response;
    if (!run->name().empty()) *response.mutable_run() = *std::move(run);
    done(http::HttpJson(wire::MessageJson(response), status));
  };
}

absl::StatusOr<std::uint32_t> ReadRound(const HttpRequest& request, const std::string& key, bool required) {
  const std::string text = request.Parameter(key);
  std::uint32_t round = 0;
  if (text.empty() && !required) return round;
  if (absl::SimpleAtoi(text, &round)) return round;
  return absl::InvalidArgumentError(fmt::format("{}: expected an integer from 0 to {}, found \"{}\"", key,
                                                std::numeric_limits<std::uint32_t>::max(), text));
}

absl::Status BusyStatus() {
  return absl::ResourceExhaustedError("too many models are being made: come back in some seconds");
}

}  // namespace

HttpOperations::HttpOperations(Coordinator& coordinator, access::AuditLog* audit, const runtime::Clock& clock)
    : operations_(coordinator, audit), thread_(clock) {
  thread_.Start("models", [] { return CommandThread::kNever; });
}

HttpOperations::~HttpOperations() { thread_.Stop(); }

http::HttpAnswer HttpOperations::StartRun(const HttpRequest& request) {
  const std::string check = request.Parameter("check");
  if (!check.empty() && check != "true" && check != "false") {
    return http::HttpProblem(400, "check: expected true or false");
  }
  absl::StatusOr<RunConfig> config = ParseRunConfig(request.body, kBodyName);
  if (config.ok() && !config->model_file.empty()) {
    config = absl::InvalidArgumentError(
        "run: model: a file cannot be named here: leave the key out for a fresh model, or use `tributary run "
        "start`");
  }
  if (!config.ok()) {
    // A check changes nothing.
    if (check != "true") operations_.RefuseStart(access::CallerOf(request), request.body, config.status());
    return http::HttpProblem(config.status());
  }
  if (check == "true") return http::HttpJson(wire::DumpJson({{"ok", true}}));
  return HttpPending{[this, caller = access::CallerOf(request), text = request.body,
                      config = *std::move(config)](const HttpPending::Done& done) {
    const bool taken = Post([this, caller, text, config, done] {
      absl::StatusOr<std::string> model = FreshModel(config);
      if (!model.ok()) {
        operations_.RefuseStart(caller, text, model.status());
        return done(http::HttpProblem(model.status()));
      }
      operations_.Start(caller, text, *std::move(model), AnswerWith<v1::StartRunResponse>(done, 201));
    });
    if (taken) return;
    operations_.RefuseStart(caller, text, BusyStatus());
    done(http::HttpProblem(BusyStatus()));
  }};
}

bool HttpOperations::Post(std::function<void()> work) {
  if (++waiting_ > kMostWaiting) {
    --waiting_;
    return false;
  }
  thread_.Post([this, work = std::move(work)] {
    work();
    --waiting_;
  });
  return true;
}

http::HttpAnswer HttpOperations::ReadModel(const HttpRequest& request, ModelFormat format) {
  const std::string digest = request.rest;
  const bool hex = digest.size() == 64 && std::ranges::all_of(digest, [](char c) {
                     return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
                   });
  if (!hex) return http::HttpProblem(400, "the digest has 64 hexadecimal digits in lower case");
  Coordinator& coordinator = operations_.coordinator();
  const auto found = coordinator.board().store().NewestModel(absl::HexStringToBytes(digest));
  if (!found.ok()) return http::HttpProblem(found.status());
  if (!found->has_value()) {
    return http::HttpProblem(404, "there is no model of this digest; GET /api/v1/models has them");
  }
  return HttpPending{[this, &coordinator, run = (*found)->run, round = (*found)->model.round, digest,
                      format](HttpPending::Done done) {
    coordinator.OpenModelAfter(
        run, round, [this, run, digest, format, done = std::move(done)](absl::StatusOr<OpenModel> model) {
          if (!model.ok()) return done(http::HttpProblem(model.status()));
          if (format == ModelFormat::kSafetensors)
            return done(SafetensorsDownload(*std::move(model), digest));
          Encode(*std::move(model), run, digest, done);
        });
  }};
}

void HttpOperations::Encode(OpenModel model, std::string run, std::string digest,
                            const HttpPending::Done& done) {
  auto open = std::make_shared<OpenModel>(std::move(model));
  const bool taken = Post([open, run = std::move(run), digest = std::move(digest), done] {
    auto download = OnnxDownload(std::move(*open), run, digest);
    if (!download.ok()) return done(http::HttpProblem(download.status()));
    done(*std::move(download));
  });
  if (!taken) done(http::HttpProblem(BusyStatus()));
}

http::HttpAnswer HttpOperations::RollBack(const HttpRequest& request) const {
  const absl::StatusOr<std::uint32_t> round = ReadRound(request, "round", true);
  if (!round.ok()) return http::HttpProblem(round.status());
  const std::string run = request.Parameter("run");
  if (run.empty()) return http::HttpProblem(400, "run: is required");
  return HttpPending{[this, caller = access::CallerOf(request), run, round = *round](HttpPending::Done done) {
    operations_.RollBack(caller, run, round, AnswerWith<v1::RollBackModelResponse>(std::move(done)));
  }};
}

void HttpOperations::AddRoutes(http::HttpServer& server) {
  server.Route({.method = HttpMethod::kPost,
                .pattern = "/api/v1/runs",
                .handler = [this](const HttpRequest& request) { return StartRun(request); },
                .parameters = {"check"},
                .body_bytes = kMostConfigBytes,
                .content_types = {"application/toml"}});
  const auto change = [&](HttpMethod method, const std::string& pattern, auto start, auto answer_with) {
    server.Route({.method = method,
                  .pattern = pattern,
                  .handler = [this, start, answer_with](const HttpRequest& request) -> http::HttpAnswer {
                    return HttpPending{[this, start, answer_with, caller = access::CallerOf(request),
                                        run = request.rest](HttpPending::Done done) {
                      (operations_.*start)(caller, run, answer_with(std::move(done), 200));
                    }};
                  }});
  };
  change(HttpMethod::kPost, "/api/v1/runs/{run}/pause", &Operations::Pause, AnswerWith<v1::PauseRunResponse>);
  change(HttpMethod::kPost, "/api/v1/runs/{run}/resume", &Operations::Resume,
         AnswerWith<v1::ResumeRunResponse>);
  change(HttpMethod::kPost, "/api/v1/runs/{run}/stop", &Operations::Stop, AnswerWith<v1::StopRunResponse>);
  change(HttpMethod::kDelete, "/api/v1/runs/{run}", &Operations::Delete, AnswerWith<v1::DeleteRunResponse>);
  server.Route("/api/v1/models",
               [this](const HttpRequest& request) -> http::HttpAnswer {
                 const absl::StatusOr<std::uint32_t> from = ReadRound(request, "from_round", false);
                 if (!from.ok()) return http::HttpProblem(from.status());
                 v1::ListModelsRequest wanted;
                 wanted.set_run(request.Parameter("run"));
                 wanted.set_from_round(*from);
                 const auto models = ListModels(operations_.coordinator().board(), wanted);
                 return models.ok() ? http::HttpJson(wire::MessageJson(*models))
                                    : http::HttpProblem(models.status());
               },
               {"run", "from_round"});
  const auto read = [&](const std::string& pattern, ModelFormat format) {
    server.Route({.pattern = pattern, .handler = [this, format](const HttpRequest& request) {
                    return ReadModel(request, format);
                  }});
  };
  read("/api/v1/models/{digest}.safetensors", ModelFormat::kSafetensors);
  read("/api/v1/models/{digest}.onnx", ModelFormat::kOnnx);
  server.Route({.method = HttpMethod::kPost,
                .pattern = "/api/v1/models/rollback",
                .handler = [this](const HttpRequest& request) { return RollBack(request); },
                .parameters = {"run", "round"}});
}

}  // namespace tributary::learning
