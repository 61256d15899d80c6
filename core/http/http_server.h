// A small HTTP/1.1 server for daemons: metrics, health, JSON and server-sent events.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/runtime/metrics.h"

namespace tributary::http {

struct HttpRequest {
  std::string path;                          // decoded, without the query
  std::map<std::string, std::string> query;  // decoded; a repeated key has its last value
  std::string rest;                          // the part after the route's prefix
  std::map<std::string, std::string>
      headers;  // names in lower case; a repeated name has its values joined by ", "

  // A parameter of the query; empty if it is absent.
  std::string Parameter(const std::string& key) const {
    const auto found = query.find(key);
    return found == query.end() ? std::string() : found->second;
  }
  // The value of a header, its name in lower case; empty if it is absent.
  std::string Header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? std::string() : found->second;
  }
};

// Parses "/api/v1/events?site=lab&rate_hz=5". Errors: InvalidArgument for a target that does not begin with
// '/', has a broken percent escape, or decodes to a control character.
absl::StatusOr<HttpRequest> ParseHttpTarget(std::string_view target);

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  // Further headers, each name once; they replace the server's own, such as `Cache-Control: no-store`.
  std::vector<std::pair<std::string, std::string>> headers{};
};

// One line of JSON.
HttpResponse HttpJson(const std::string& json, int status = 200);

// The answer to every fault, of the server and of handlers: {"error": "what is wrong"}, application/json.
HttpResponse HttpProblem(int status, std::string_view error);

// One server-sent event; both texts without line breaks.
struct HttpEvent {
  std::string data;
  std::string id = {};  // a reader that connects again sends it in the header Last-Event-ID; empty: none
};

// Server-sent events: every `interval`, `next` returns one event or nothing. The server does not call it
// while the client still reads the previous event, so a slow reader gets the latest.
struct HttpEventStream {
  std::chrono::microseconds interval{100'000};
  std::function<std::optional<HttpEvent>()> next;
};

using HttpAnswer = std::variant<HttpResponse, HttpEventStream>;

struct HttpLimits {
  std::size_t connections = 64;               // answers 503 beyond
  std::size_t streams = 16;                   // of events; answers 503 beyond
  std::size_t header_bytes = 8192;            // answers 431 beyond
  std::size_t sent_bytes = 8 << 20;           // of all answers being sent; answers 503 beyond
  std::chrono::milliseconds timeout{10'000};  // of a request, of a response, and of an idle connection
};

// The server's thread writes them; any thread reads.
struct HttpCounters {
  using Count = std::atomic<std::uint64_t>;
  Count requests = 0;              // answered, whatever the status
  Count rejected_requests = 0;     // of these with a status of 400 or more
  Count rejected_connections = 0;  // beyond the limit
  Count open_connections = 0;      // now
  Count open_streams = 0;          // now
};

// Owns one thread, which runs the handlers: they must be quick. Serves GET and HEAD only and takes no request
// body. It answers hostile input or closes the connection. Set routes before Start. A route matches exactly,
// or as a prefix if it ends in '/'; the longest one wins. "/" matches exactly. No TLS: use it on loopback or
// behind a proxy.
class HttpServer {
 public:
  using Handler = std::function<HttpAnswer(const HttpRequest&)>;

  explicit HttpServer(HttpLimits limits = {});
  ~HttpServer();  // Stop()
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // `parameters`: what the query may hold; anything else is answered with 400.
  void Route(std::string path, Handler handler, std::set<std::string> parameters = {}) {
    routes_.insert_or_assign(std::move(path), Target{std::move(handler), std::move(parameters)});
  }

  // "host:port"; port 0: any. InvalidArgument: not an address. Unavailable: it cannot be bound.
  absl::Status Start(const std::string& listen);
  // Closes all connections and ends the thread.
  void Stop();

  int port() const { return port_; }
  const HttpCounters& counters() const { return counters_; }

 private:
  class Connection;
  struct Sockets;
  struct Target {
    Handler handler;
    std::set<std::string> parameters;
  };
  void Accept();
  std::string NoSuchPath() const;  // and which paths there are
  // The longest route that matches, with the request's `rest` filled in; null: none.
  const Target* Find(HttpRequest& request) const;

  const HttpLimits limits_;
  std::map<std::string, Target> routes_;
  HttpCounters counters_;
  std::size_t sending_bytes_ = 0;  // the server's thread only
  int port_ = 0;
  std::unique_ptr<Sockets> sockets_;  // destroyed before what connections refer to
};

// What every daemon serves: /metrics, with the server's own counts among them, and /healthz, which says that
// the process answers. The metrics read the counts when they are scraped: each must outlive the other's last
// reader.
void AddDaemonRoutes(HttpServer& server, runtime::Metrics& metrics);

}  // namespace tributary::http
