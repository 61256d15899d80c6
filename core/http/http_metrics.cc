#include "core/http/http_metrics.h"

#include <cstdint>

namespace tributary::http {

void AddHttpMetrics(const HttpServer& server, runtime::Metrics& metrics) {
  const auto counter = [&](const char* name, const char* help, std::uint64_t HttpCounters::*member) {
    metrics.AddCounterCallback(name, help, {},
                               [&server, member] { return static_cast<double>(server.counters().*member); });
  };
  const auto gauge = [&](const char* name, const char* help, std::uint64_t HttpCounters::*member) {
    metrics.AddGaugeCallback(name, help, {},
                             [&server, member] { return static_cast<double>(server.counters().*member); });
  };
  counter("tributary_http_requests_total", "HTTP requests answered.", &HttpCounters::requests);
  counter("tributary_http_requests_rejected_total", "HTTP requests answered with a status of 400 or more.",
          &HttpCounters::rejected_requests);
  counter("tributary_http_connections_rejected_total", "HTTP connections beyond the limit.",
          &HttpCounters::rejected_connections);
  gauge("tributary_http_open_connections", "Open HTTP connections.", &HttpCounters::open_connections);
  gauge("tributary_http_event_streams", "Open event streams.", &HttpCounters::open_streams);
}

}  // namespace tributary::http
