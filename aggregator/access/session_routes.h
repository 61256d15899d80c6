// How a page logs in and out.
#pragma once

#include "aggregator/access/audit_log.h"
#include "aggregator/access/sessions.h"
#include "core/http/http_server.h"
#include "core/runtime/clock.h"

namespace tributary::access {

// GET /api/v1/session      who asks: {"name", "way", "role"}
// POST /api/v1/session     with Authorization: Bearer TOKEN: the same, and the cookie of a session that
// speaks for
//                          the token; 401 otherwise
// DELETE /api/v1/session   ends the session of the cookie; 204
//
// The server's gate is HttpAccess. Sessions, clock and audit (null: none) outlive the server.
void AddSessionRoutes(http::HttpServer& server, Sessions& sessions, const runtime::Clock& clock,
                      AuditLog* audit);

}  // namespace tributary::access
