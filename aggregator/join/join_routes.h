// How a board without a certificate joins, over HTTPS.
#pragma once

#include "aggregator/access/audit_log.h"
#include "aggregator/access/live_tokens.h"
#include "aggregator/join/certificate_desk.h"
#include "core/config/live_tls.h"
#include "core/http/http_server.h"

namespace tributary::join {

// GET /api/v1/ca      the authority's certificate as PEM. A board compares its SHA-256 with the one in its
//                     token, and trusts only that authority from then on
// POST /api/v1/join   body: JoinRequest; JoinResponse. The token comes as Authorization: Bearer. 403 a name
// that
//                     the token does not give, 409 another board has it, 429 used up or too many
//
// All of them outlive the server's thread; `audit`: null for none.
void AddJoinRoutes(http::HttpServer& server, CertificateDesk& desk, const access::LiveTokens& tokens,
                   config::TlsSource tls, access::AuditLog* audit);

}  // namespace tributary::join
