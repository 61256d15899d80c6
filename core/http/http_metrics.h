// The counts of an HTTP server, as metrics.
#pragma once

#include "core/http/http_server.h"
#include "core/runtime/metrics.h"

namespace tributary::http {

// The metrics read the counts when they are scraped: the server must outlive their last reader.
void AddHttpMetrics(const HttpServer& server, runtime::Metrics& metrics);

}  // namespace tributary::http
