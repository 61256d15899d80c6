#include "node/retraining/samples_routes.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "core/runtime/address.h"
#include "node/retraining/samples_text.h"

namespace tributary::retraining {
namespace {

constexpr std::size_t kMostBodyBytes = 64 << 10;

nlohmann::ordered_json StatusJson(const RetrainingStatus& status) {
  constexpr std::string_view kPrefix = "tributary_retraining_";
  nlohmann::ordered_json json = {{"drifted", status.drifted},
                                 {"deviation_scale", status.deviation_scale},
                                 {"waiting_samples", status.waiting_samples},
                                 {"kept_samples", status.kept_samples},
                                 {"error_m", status.error_m}};
  for (const auto& metric : kRetrainingMetrics) {
    const std::string_view name = metric.name;
    const std::string key(name.substr(kPrefix.size(), name.rfind("_total") - kPrefix.size()));
    json[key] = status.counters.*metric.count;
  }
  return json;
}

class SamplesRoutes {
 public:
  explicit SamplesRoutes(Retrainers retrainers) : retrainers_(std::move(retrainers)) {}

  http::HttpResponse Post(const http::HttpRequest& request) const {
    if (request.peer == nullptr || !runtime::IsLoopback(request.peer->address)) {
      return http::HttpProblem(403, "samples are taken from programs of this machine only");
    }
    BeaconRetrainer* const retrainer = Find(request);
    if (retrainer == nullptr) return Unknown(request);
    const auto samples = ParseSamples(request.body);
    if (!samples.ok()) return http::HttpProblem(samples.status());
    if (samples->empty()) return http::HttpProblem(400, "no sample: lines of unix_ns,range,range,range,x,y");
    if (const absl::Status status = retrainer->Offer(*samples); !status.ok())
      return http::HttpProblem(status);
    const nlohmann::ordered_json answer = {{"taken", samples->size()},
                                           {"waiting", retrainer->status().waiting_samples}};
    return http::HttpJson(answer.dump(), 202);
  }

  http::HttpResponse Get(const http::HttpRequest& request) const {
    const BeaconRetrainer* const retrainer = Find(request);
    return retrainer == nullptr ? Unknown(request) : http::HttpJson(StatusJson(retrainer->status()).dump());
  }

 private:
  BeaconRetrainer* Find(const http::HttpRequest& request) const {
    const auto found = retrainers_.find(request.rest);
    return found == retrainers_.end() ? nullptr : found->second;
  }
  static http::HttpResponse Unknown(const http::HttpRequest& request) {
    return http::HttpProblem(
        404, fmt::format("no panel \"{}\" with http = true in [panel.retraining]", request.rest));
  }

  const Retrainers retrainers_;
};

}  // namespace

void AddSamplesRoutes(http::HttpServer& server, Retrainers retrainers) {
  const auto routes = std::make_shared<const SamplesRoutes>(std::move(retrainers));
  server.Route({.method = http::HttpMethod::kPost,
                .pattern = "/api/v1/panels/{panel}/samples",
                .handler = [routes](const http::HttpRequest& request) { return routes->Post(request); },
                .body_bytes = kMostBodyBytes,
                .content_types = {"text/csv"}});
  server.Route("/api/v1/panels/{panel}/retraining",
               [routes](const http::HttpRequest& request) { return routes->Get(request); });
}

}  // namespace tributary::retraining
