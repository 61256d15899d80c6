// A small HTTP/1.1 server for what daemons show: metrics, health, JSON and server-sent events.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "absl/status/status.h"

namespace tributary::http {

struct HttpRequest {
  std::string path;                          // decoded, without the query
  std::map<std::string, std::string> query;  // decoded; the last of a repeated key holds
  std::string rest;                          // what follows the route's prefix
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

// How every fault is answered, the server's own and a handler's: {"error": "what is wrong"},
// application/json.
HttpResponse HttpProblem(int status, std::string_view error);

// Server-sent events: every `interval`, `next` gives the data of one event (without line breaks), or nothing
// if there is no news. It is not asked while the client still reads the previous event, so that a slow reader
// gets the latest.
struct HttpEventStream {
  std::chrono::microseconds interval{100'000};
  std::function<std::optional<std::string>()> next;
};

struct HttpLimits {
  std::size_t connections = 64;     // more are answered 503
  std::size_t streams = 16;         // of these; more are answered 503
  std::size_t header_bytes = 8192;  // more are answered 431
  std::chrono::milliseconds timeout{
      10'000};  // for a request to arrive, a response to be read, an idle connection
};

struct HttpCounters {
  std::uint64_t requests = 0;              // answered, whatever the status
  std::uint64_t rejected_requests = 0;     // of these with a status of 400 or more
  std::uint64_t rejected_connections = 0;  // beyond the limit
  std::uint64_t open_connections = 0;      // now
  std::uint64_t open_streams = 0;          // now
};

// Owns one thread, on which handlers run: they must be quick. GET and HEAD only, no request bodies, hostile
// input is answered or cut. Routes are given before Start and are matched exactly, or as a prefix if they end
// in '/'; the longest wins. No TLS: for the loopback, or behind a proxy.
class HttpServer {
 public:
  using Handler = std::function<HttpResponse(const HttpRequest&)>;
  // A response instead of a stream refuses it.
  using StreamHandler = std::function<std::variant<HttpEventStream, HttpResponse>(const HttpRequest&)>;

  explicit HttpServer(HttpLimits limits = {});
  ~HttpServer();  // Stop()
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  void Route(std::string path, Handler handler);
  void RouteStream(std::string path, StreamHandler handler);

  // "host:port"; port 0: any. InvalidArgument: not an address. Unavailable: it cannot be bound.
  absl::Status Start(const std::string& listen);
  // Cuts all connections and ends the thread.
  void Stop();

  int port() const;
  HttpCounters counters() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tributary::http
