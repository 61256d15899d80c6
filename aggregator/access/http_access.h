// Who may do what over HTTP: by certificate, bearer token, session or nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "aggregator/access/access_control.h"
#include "aggregator/access/attempt_limit.h"
#include "aggregator/access/audit_log.h"
#include "aggregator/access/live_tokens.h"
#include "aggregator/access/sessions.h"
#include "core/http/http_message.h"
#include "core/runtime/clock.h"
#include "core/runtime/log.h"

namespace tributary::access {

// The same roles as on the gRPC port, from one table (call_table.h). A caller is known by the first of these:
//
//   1. `Authorization: Bearer TOKEN`: a token of the file; one that is unknown or has expired is refused. An
//      address that shows many of those is told to wait, without a line in the logs for each.
//   2. the cookie of a session, which speaks for the token by which it was opened;
//   3. the certificate of the CA that it has shown, with its roles in [access] and the list of revoked ones;
//   4. nothing: what `anonymous` allows.
//
// A browser adds cookies and certificates by itself, also to what a page of another site makes it send.
// Whatever changes something is therefore refused with the Origin of another site, which browsers send with
// every such call. A cookie comes from a browser, so it needs an Origin. Nobody knows an anonymous operator,
// so its Host must be the loopback: a name of another site may lead there. For the same reason a caller on
// this machine without a name is answered only under an address or localhost (RefuseForeignHost).
class HttpAccess {
 public:
  // Whom a stranger counts as.
  enum class Anonymous { kNobody, kViewer, kOperator };

  // All of them outlive it. `audit`: null for none.
  HttpAccess(AccessControl& control, const LiveTokens& tokens, Sessions& sessions, Anonymous anonymous,
             const runtime::Clock& clock, AuditLog* audit)
      : control_(control),
        tokens_(tokens),
        sessions_(sessions),
        anonymous_(anonymous),
        clock_(clock),
        audit_(audit) {}

  // The gate of a server (HttpGate): fills request.caller; the answer to whoever may not make the call.
  std::optional<http::HttpResponse> Judge(http::HttpRequest& request);

 private:
  struct Refusal {
    CallFault fault;
    absl::Status status;
  };
  // Who it is, and the roles; a credential that is no good is refused.
  std::optional<Refusal> Identify(http::HttpRequest& request, RoleSet& roles, bool& from_browser) const;
  // By the token in the header; `given`: its value.
  std::optional<Refusal> IdentifyByToken(const std::string& given, http::HttpRequest& request,
                                         RoleSet& roles) const;
  // The answer to a refused call; counts, logs and audits it.
  http::HttpResponse Refuse(const http::HttpRequest& request, RoleSet wanted, Refusal refusal);
  void Know(const config::AccessToken& token, std::string_view way, http::HttpRequest& request,
            RoleSet& roles) const;
  void Audit(const http::HttpRequest& request, const absl::Status& refusal);
  static constexpr std::int64_t kMinuteNs = std::int64_t{60} * 1'000'000'000;
  std::int64_t NowUnixS() const { return clock_.UnixNs() / 1'000'000'000; }

  AccessControl& control_;
  const LiveTokens& tokens_;
  Sessions& sessions_;
  const Anonymous anonymous_;
  const runtime::Clock& clock_;
  AuditLog* const audit_;
  AttemptLimit attempts_;
  // Refused calls in the audit log, of callers who are known and of others: 20 at once, then one a minute.
  // More would push out the lines of what was done.
  runtime::LogLimit known_lines_{20, kMinuteNs}, unknown_lines_{20, kMinuteNs};
};

// Who made a request that was admitted.
Caller CallerOf(const http::HttpRequest& request);

// The name of the session's cookie: with TLS browsers take it from this host only.
std::string_view SessionCookieName(const http::HttpRequest& request);
// The value of a cookie; empty: there is none.
std::string CookieOf(const http::HttpRequest& request, std::string_view name);

}  // namespace tributary::access
