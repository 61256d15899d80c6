#include "aggregator/join/join_routes.h"

#include <memory>
#include <string>
#include <utility>

#include "aggregator/access/http_access.h"
#include "aggregator/join/join_request.h"
#include "core/status/context.h"
#include "core/wire/json.h"

namespace tributary::join {
namespace {

using http::HttpPending;
using http::HttpRequest;

// The token that the gate has admitted, unless it was revoked since.
absl::StatusOr<CertificateDesk::Order> OrderOf(const HttpRequest& request, const access::LiveTokens& tokens) {
  auto asked = ParseJoinRequest(request.body);
  if (!asked.ok()) return WithContext("body", asked.status());
  const config::AccessToken* const token = tokens.tokens()->FindId(request.caller.credential);
  if (token == nullptr) return absl::UnauthenticatedError("the token was revoked");
  return CertificateDesk::Order{
      .certificate_request = asked->certificate_request(), .name = asked->name(), .token = *token};
}

http::HttpResponse AnswerOf(const CertificateDesk::Issued& issued, const config::TlsSource& tls) {
  v1::JoinResponse response;
  response.set_name(issued.name);
  response.set_certificate(issued.certificate_pem);
  response.set_ca(tls->material()->ca_pem);
  return http::HttpJson(wire::MessageJson(response));
}

}  // namespace

void AddJoinRoutes(http::HttpServer& server, CertificateDesk& desk, const access::LiveTokens& tokens,
                   config::TlsSource tls, access::AuditLog* audit) {
  server.Route("/api/v1/ca", [&desk](const HttpRequest&) {
    return http::HttpResponse{200, "application/x-pem-file", desk.ca_pem()};
  });
  const auto join = [&desk, &tokens, tls = std::move(tls), audit](const HttpRequest& request) {
    const auto tell = [audit, caller = access::CallerOf(request)](const std::string& board,
                                                                  const absl::Status& outcome) {
      if (audit != nullptr) audit->Add({caller, "Join", board, outcome});
    };
    absl::StatusOr<CertificateDesk::Order> order = OrderOf(request, tokens);
    if (!order.ok()) {
      tell("", order.status());
      return http::HttpAnswer(http::HttpProblem(order.status()));
    }
    const auto shared = std::make_shared<CertificateDesk::Order>(*std::move(order));
    return http::HttpAnswer(HttpPending{[&desk, shared, tls, tell](HttpPending::Done done) {
      const std::string wanted = shared->name;
      desk.Ask(std::move(*shared), [done = std::move(done), tls, tell,
                                    wanted](const absl::StatusOr<CertificateDesk::Issued>& issued) {
        tell(issued.ok() ? issued->name : wanted, issued.status());
        done(issued.ok() ? AnswerOf(*issued, tls) : http::HttpProblem(issued.status()));
      });
    }});
  };
  server.Route({.method = http::HttpMethod::kPost,
                .pattern = "/api/v1/join",
                .handler = join,
                .body_bytes = kMostJoinBytes,
                .content_types = {"application/json"}});
}

}  // namespace tributary::join
