#include "aggregator/access/http_access.h"

#include <fmt/format.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/config/tls.h"
#include "core/http/foreign_host.h"
#include "core/runtime/address.h"
#include "core/wire/peer_address.h"

namespace tributary::access {
namespace {

using http::HttpMethod;
using http::HttpRequest;
using http::HttpResponse;

constexpr RoleSet kViewerRoles = {Role::kStranger, Role::kViewer};
constexpr RoleSet kJoinRoles = {Role::kStranger, Role::kJoiner};
constexpr RoleSet kOperatorRoles = {Role::kStranger, Role::kViewer, Role::kOperator};

std::string RoleName(RoleSet roles) {
  if (roles.Has(Role::kOperator)) return "operator";
  return roles.Has(Role::kViewer) ? "viewer" : "";
}

// A route without a row is read by viewers and changed by operators.
RoleSet RolesFor(const HttpRequest& request) {
  if (const CallRule* rule = FindCall(request.route)) return rule->roles;
  return {request.method == HttpMethod::kGet ? Role::kViewer : Role::kOperator};
}

bool IsLoopbackHost(const std::string& host) {
  return runtime::IsLoopback(host) || runtime::IsLoopback(host + ":80");
}

// Whether the page that sends it is one of this server.
bool IsOwnOrigin(const HttpRequest& request, const std::string& origin) {
  return absl::EqualsIgnoreCase(origin,
                                (request.peer->tls ? "https://" : "http://") + request.Header("Host"));
}

absl::Status CheckOrigin(const HttpRequest& request, bool from_browser, bool anonymous) {
  const std::string origin = request.Header("Origin");
  if (origin.empty() && from_browser) {
    return absl::PermissionDeniedError("with a session's cookie this call needs an Origin header");
  }
  if (!origin.empty() && !IsOwnOrigin(request, origin)) {
    return absl::PermissionDeniedError("a page of another site may not make this call");
  }
  if (anonymous && !IsLoopbackHost(request.Header("Host"))) {
    return absl::PermissionDeniedError(
        "without a token this call takes the Host localhost, 127.0.0.1 or [::1]");
  }
  return absl::OkStatus();
}

HttpResponse Problem(const absl::Status& status) {
  HttpResponse response = http::HttpProblem(status);
  if (absl::IsUnauthenticated(status)) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

}  // namespace

Caller CallerOf(const HttpRequest& request) {
  return {request.caller.name, request.caller.way, request.peer == nullptr ? "" : request.peer->address,
          request.caller.credential};
}

std::string_view SessionCookieName(const HttpRequest& request) {
  return request.peer != nullptr && request.peer->tls ? "__Host-tributary-session" : "tributary-session";
}

std::string CookieOf(const HttpRequest& request, std::string_view name) {
  const std::string cookies = request.Header("Cookie");
  for (absl::string_view each : absl::StrSplit(cookies, ';')) {
    each = absl::StripAsciiWhitespace(each);
    if (absl::ConsumePrefix(&each, {name.data(), name.size()}) && absl::ConsumePrefix(&each, "=")) {
      return std::string(each);
    }
  }
  return "";
}

void HttpAccess::Know(const config::AccessToken& token, std::string_view way, HttpRequest& request,
                      RoleSet& roles) const {
  roles = token.role == config::TokenRole::kOperator ? kOperatorRoles
          : token.role == config::TokenRole::kJoin   ? kJoinRoles
                                                     : kViewerRoles;
  request.caller = {token.name, std::string(way), token.id};
}

std::optional<HttpAccess::Refusal> HttpAccess::IdentifyByToken(const std::string& given, HttpRequest& request,
                                                               RoleSet& roles) const {
  absl::string_view text = given;
  const bool bearer = absl::StartsWithIgnoreCase(text, "Bearer ");
  if (bearer) text.remove_prefix(7);
  text = absl::StripAsciiWhitespace(text);
  const std::shared_ptr<const config::TokenSet> tokens = tokens_.tokens();
  const config::AccessToken* const token =
      bearer ? tokens->Find(std::string_view(text.data(), text.size())) : nullptr;
  if (token == nullptr) {
    return Refusal{CallFault::kToken,
                   absl::UnauthenticatedError(
                       "the token is not known or was revoked: make one with `tributary token create`, or "
                       "`tributary token invite` for a board; send it as Authorization: Bearer TOKEN")};
  }
  if (NowUnixS() >= token->expires_unix_s) {
    return Refusal{CallFault::kToken,
                   absl::UnauthenticatedError(fmt::format(
                       "the token \"{}\" has expired: make another with `tributary token {}`", token->name,
                       token->role == config::TokenRole::kJoin ? "invite" : "create"))};
  }
  Know(*token, "token", request, roles);
  return std::nullopt;
}

std::optional<HttpAccess::Refusal> HttpAccess::Identify(HttpRequest& request, RoleSet& roles,
                                                        bool& from_browser) const {
  const std::int64_t now_s = NowUnixS();
  const std::shared_ptr<const config::TokenSet> tokens = tokens_.tokens();
  if (std::string given = request.Header("Authorization"); !given.empty()) {
    return IdentifyByToken(given, request, roles);
  }
  // A cookie of an earlier session is as good as none.
  if (const std::string cookie = CookieOf(request, SessionCookieName(request)); !cookie.empty()) {
    const config::AccessToken* const token = tokens->FindId(sessions_.TokenOf(cookie, now_s));
    if (token != nullptr && now_s < token->expires_unix_s) {
      from_browser = true;
      Know(*token, "session", request, roles);
      return std::nullopt;
    }
  }
  if (request.peer != nullptr && !request.peer->certificate_pem.empty()) {
    const std::string& pem = request.peer->certificate_pem;
    const Peer peer{config::CertificateName(pem), control_.certificates().IdOf(pem)};
    if (absl::Status status = control_.CheckCertificate(peer); !status.ok()) {
      return Refusal{CallFault::kCertificate, std::move(status)};
    }
    roles = control_.policy()->RolesOf(peer.name);
    if (control_.policy()->Refuses(peer.name)) {
      return Refusal{CallFault::kRefused, control_.policy()->CheckCall(kWatchPath, peer.name)};
    }
    roles.Add(Role::kStranger);
    request.caller = {peer.name, "certificate"};
    return std::nullopt;
  }
  roles = anonymous_ == Anonymous::kOperator ? kOperatorRoles
          : anonymous_ == Anonymous::kViewer ? kViewerRoles
                                             : RoleSet{Role::kStranger};
  request.caller = {"", "anonymous"};
  return std::nullopt;
}

std::optional<HttpResponse> HttpAccess::Judge(HttpRequest& request) {
  const RoleSet wanted = RolesFor(request);
  RoleSet roles;
  bool from_browser = false;
  request.caller = {};
  std::optional<Refusal> refusal = Identify(request, roles, from_browser);
  request.caller.role = RoleName(roles);
  const bool anonymous = request.caller.way == "anonymous";
  const bool changes = request.method != HttpMethod::kGet;
  if (!refusal && anonymous) {
    if (std::optional<HttpResponse> foreign = http::RefuseForeignHost(request)) {
      control_.Count(CallFault::kOrigin);
      return foreign;
    }
  }
  if (!refusal && !wanted.HasAnyOf(roles)) {
    if (anonymous) {
      refusal = {
          CallFault::kUnknown,
          absl::UnauthenticatedError("this call takes a certificate or a token: make one with `tributary "
                                     "token create`, and send it as Authorization: Bearer TOKEN")};
    } else if (request.caller.way == "certificate" && FindCall(request.route) != nullptr) {
      refusal = {CallFault::kRole, control_.policy()->CheckCall(request.route, request.caller.name)};
    } else {
      const char* const role = wanted.Has(Role::kJoiner)     ? "join"
                               : wanted.Has(Role::kOperator) ? "operator"
                                                             : "viewer";
      refusal = {CallFault::kRole,
                 absl::PermissionDeniedError(fmt::format(
                     "\"{}\" may not make this call: it takes the role {}", request.caller.name, role))};
    }
  }
  if (!refusal && changes && request.caller.way != "token") {
    if (absl::Status status = CheckOrigin(request, from_browser, anonymous && !wanted.Has(Role::kStranger));
        !status.ok()) {
      refusal = {CallFault::kOrigin, std::move(status)};
    }
  }
  if (!refusal) return std::nullopt;
  return Refuse(request, wanted, *std::move(refusal));
}

HttpResponse HttpAccess::Refuse(const HttpRequest& request, RoleSet wanted, Refusal refusal) {
  const std::string address =
      request.peer == nullptr ? "" : wire::AddressOf(wire::PeerOf("tcp:" + request.peer->address));
  if (refusal.fault == CallFault::kToken && !attempts_.Admit(address, clock_.SteadyNs())) {
    control_.Count(CallFault::kAttempts);
    HttpResponse response = http::HttpProblem(absl::ResourceExhaustedError(
        "this address has shown too many tokens that are not known or have expired: wait a minute"));
    response.headers.emplace_back("Retry-After", "60");
    return response;
  }
  const absl::Status status = control_.Refuse(refusal.fault, std::move(refusal.status));
  const bool changes = wanted.Has(Role::kOperator) || wanted.Has(Role::kJoiner);
  if (audit_ != nullptr && changes) Audit(request, status);
  return Problem(status);
}

void HttpAccess::Audit(const HttpRequest& request, const absl::Status& refusal) {
  runtime::LogLimit& lines = request.caller.name.empty() ? unknown_lines_ : known_lines_;
  const std::optional<std::string> more = lines.Admit(clock_.SteadyNs());
  if (!more) return;
  const std::string message = std::string(refusal.message()) + *more;
  audit_->Add(
      {CallerOf(request), std::string(request.route), request.rest, absl::Status(refusal.code(), message)});
}

}  // namespace tributary::access
