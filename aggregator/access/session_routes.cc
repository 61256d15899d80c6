#include "aggregator/access/session_routes.h"

#include <fmt/format.h>

#include <string>

#include "aggregator/access/http_access.h"
#include "core/wire/json.h"

namespace tributary::access {
namespace {

constexpr const char* kSessionPath = "/api/v1/session";

http::HttpResponse WhoAsks(const http::HttpRequest& request) {
  const http::HttpCaller& caller = request.caller;
  return http::HttpJson(wire::DumpJson({{"name", caller.name}, {"way", caller.way}, {"role", caller.role}}));
}

std::string Cookie(const http::HttpRequest& request, std::string_view value, std::int64_t max_age_s) {
  return fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age={}{}", SessionCookieName(request),
                     value, max_age_s, request.peer->tls ? "; Secure" : "");
}

}  // namespace

void AddSessionRoutes(http::HttpServer& server, Sessions& sessions, const runtime::Clock& clock,
                      AuditLog* audit) {
  server.Route(kSessionPath, [](const http::HttpRequest& request) { return WhoAsks(request); });
  server.Route({.method = http::HttpMethod::kPost,
                .pattern = kSessionPath,
                .handler = [&sessions, &clock, audit](const http::HttpRequest& request) -> http::HttpAnswer {
                  if (request.caller.way != "token") {
                    return http::HttpProblem(401, "a session is opened with Authorization: Bearer TOKEN");
                  }
                  if (request.caller.role.empty()) {
                    return http::HttpProblem(403, "a token that lets boards join opens no session");
                  }
                  const auto secret =
                      sessions.Open(request.caller.credential, clock.UnixNs() / 1'000'000'000);
                  if (audit != nullptr) audit->Add({CallerOf(request), "OpenSession", "", secret.status()});
                  if (!secret.ok()) return http::HttpProblem(secret.status());
                  http::HttpResponse response = WhoAsks(request);
                  response.headers.emplace_back("Set-Cookie", Cookie(request, *secret, Sessions::kLifetimeS));
                  return response;
                }});
  server.Route(
      {.method = http::HttpMethod::kDelete,
       .pattern = kSessionPath,
       .handler = [&sessions](const http::HttpRequest& request) {
         sessions.Close(CookieOf(request, SessionCookieName(request)));
         return http::HttpResponse{204, "application/json", "", {{"Set-Cookie", Cookie(request, "", 0)}}};
       }});
}

}  // namespace tributary::access
