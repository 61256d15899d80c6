#include "aggregator/publish/api.h"

#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "aggregator/publish/site_message.h"
#include "aggregator/publish/unknown_site.h"
#include "core/wire/convert.h"
#include "core/wire/message_json.h"

namespace tributary::publish {
namespace {

constexpr double kDefaultEventRateHz = 10;
constexpr double kMaxEventRateHz = 50;

http::HttpResponse Answer(const google::protobuf::Message& message) {
  return {200, "application/json", wire::MessageJson(message) + "\n"};
}

std::string Query(const http::HttpRequest& request, const std::string& key) {
  const auto found = request.query.find(key);
  return found == request.query.end() ? std::string() : found->second;
}

const PublishedSite* FindSite(const ApiContext& context, const std::string& name) {
  for (const PublishedSite& site : context.sites) {
    if (site.engine->config().name == name) return &site;
  }
  return nullptr;
}

http::HttpResponse NoSuchSite(const ApiContext& context, const std::string& name) {
  std::vector<std::string> known;
  for (const PublishedSite& site : context.sites) known.push_back(site.engine->config().name);
  return http::HttpProblem(404, std::string(UnknownSite(name, known).message()));
}

v1::WatchResponse SlotOf(const PublishedSite& site, const BoardSlot& latest) {
  const fusion::SiteConfig& config = site.engine->config();
  return wire::SlotMessage(config.name, latest.slot, config.slot, config.leaves, latest.skipped);
}

http::HttpResponse Sites(const ApiContext& context) {
  v1::ListSitesResponse response;
  for (const PublishedSite& site : context.sites) *response.add_sites() = SiteMessage(*site.engine);
  return Answer(response);
}

http::HttpResponse LatestOfSite(const ApiContext& context, const std::string& name) {
  const PublishedSite* site = FindSite(context, name);
  if (site == nullptr) return NoSuchSite(context, name);
  const std::optional<BoardSlot> latest = site->board->Latest();
  if (!latest) return {204, "application/json", ""};
  return Answer(SlotOf(*site, *latest));
}

http::HttpResponse Nodes(const ApiContext& context, const std::string& site) {
  const absl::StatusOr<v1::ListNodesResponse> nodes = context.nodes.List(site);
  return nodes.ok() ? Answer(*nodes) : http::HttpProblem(404, std::string(nodes.status().message()));
}

std::variant<http::HttpEventStream, http::HttpResponse> Events(const ApiContext& context,
                                                               const http::HttpRequest& request) {
  const std::string name = Query(request, "site");
  // With one site there is nothing to choose.
  const PublishedSite* site =
      name.empty() && context.sites.size() == 1 ? &context.sites.front() : FindSite(context, name);
  if (site == nullptr) return NoSuchSite(context, name);
  double rate_hz = kDefaultEventRateHz;
  const std::string rate = Query(request, "rate_hz");
  if (!rate.empty() &&
      (!absl::SimpleAtod(rate, &rate_hz) || !(rate_hz > 0.01 && rate_hz <= kMaxEventRateHz))) {
    return http::HttpProblem(400, "rate_hz: expected a number from 0.01 to 50");
  }
  http::HttpEventStream stream;
  stream.interval = std::chrono::microseconds(std::llround(1e6 / rate_hz));
  stream.next = [site, seen = std::uint64_t{0}]() mutable -> std::optional<std::string> {
    const std::optional<BoardSlot> latest = site->board->LatestAfter(seen);
    if (!latest) return std::nullopt;
    return wire::MessageJson(SlotOf(*site, *latest));
  };
  return stream;
}

}  // namespace

void AddApiRoutes(http::HttpServer& server, ApiContext given) {
  const auto context = std::make_shared<const ApiContext>(std::move(given));
  server.Route("/metrics", [context](const http::HttpRequest&) {
    return http::HttpResponse{200, "text/plain; version=0.0.4; charset=utf-8", context->metrics_text()};
  });
  server.Route("/healthz", [](const http::HttpRequest&) { return http::HttpResponse{.body = "ok\n"}; });
  server.Route("/readyz", [context](const http::HttpRequest& request) {
    return context->readiness->Answer(Query(request, "site"));
  });
  server.Route("/api/v1/sites", [context](const http::HttpRequest&) { return Sites(*context); });
  server.Route("/api/v1/sites/",
               [context](const http::HttpRequest& request) { return LatestOfSite(*context, request.rest); });
  server.Route("/api/v1/nodes", [context](const http::HttpRequest& request) {
    return Nodes(*context, Query(request, "site"));
  });
  server.RouteStream("/api/v1/events",
                     [context](const http::HttpRequest& request) { return Events(*context, request); });
}

}  // namespace tributary::publish
