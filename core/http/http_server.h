// A small HTTP/1.1 server for daemons: metrics, health, JSON, server-sent events, operations.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "core/config/live_tls.h"
#include "core/http/http_limits.h"
#include "core/http/http_message.h"
#include "core/http/http_routes.h"
#include "core/runtime/metrics.h"

namespace tributary::http {

struct HttpService;

// Owns one thread, which runs the handlers: they must be quick, or answer with HttpPending. It answers
// hostile input or closes the connection. Set routes, gate and TLS before Start. Without TLS use it on the
// loopback or behind a proxy.
class HttpServer {
 public:
  explicit HttpServer(HttpLimits limits = {});
  ~HttpServer();  // Stop()
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  void Route(HttpRoute route);
  // A route for GET and HEAD. `parameters`: what the query may hold.
  void Route(std::string pattern, HttpHandler handler, std::set<std::string> parameters = {}) {
    Route(HttpRoute{
        .pattern = std::move(pattern), .handler = std::move(handler), .parameters = std::move(parameters)});
  }
  // "GET /metrics": all of them.
  std::vector<std::string> Routes() const;

  // A field of the header of every answer but streams and downloads, such as a version.
  void AddHeader(std::string name, std::string value);
  // Asked before the body of a request is read, and again while its event stream is open: nothing admits it,
  // a response refuses it. May note in `request.caller` who asks. Without a gate everything is admitted.
  void SetGate(std::function<std::optional<HttpResponse>(HttpRequest& request)> gate);
  // HTTPS by the certificate in force at each handshake. A client may show a certificate of the CA.
  void SetTls(config::TlsSource tls);

  // "host:port"; port 0: any. InvalidArgument: not an address, or the certificate cannot be used.
  // Unavailable: it cannot be bound.
  absl::Status Start(const std::string& listen);
  // The same in two steps. Between them connections wait, and nobody else can have the address.
  absl::Status Bind(const std::string& listen);
  void Serve();
  // Closes all connections and ends the thread. Answers that are pending are dropped.
  void Stop();

  int port() const { return port_; }
  const HttpCounters& counters() const;

 private:
  struct Sockets;

  const std::unique_ptr<HttpService> service_;  // its io_context owns the connections
  const std::unique_ptr<Sockets> sockets_;
  int port_ = 0;
};

// What every daemon serves: /metrics, with the server's own counts among them, and /healthz, which says that
// the process answers. The metrics read the counts when they are scraped: each must outlive the other's last
// reader.
void AddDaemonRoutes(HttpServer& server, runtime::Metrics& metrics);

}  // namespace tributary::http
