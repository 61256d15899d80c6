// What an HTTP server counts, as metrics.
#pragma once

#include "core/http/http_server.h"
#include "core/runtime/metrics.h"

namespace tributary::http {

// Read when the metrics are; the server outlives their last reader.
void AddHttpMetrics(const HttpServer& server, runtime::Metrics& metrics);

}  // namespace tributary::http
