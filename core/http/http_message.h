// Requests and answers of the HTTP server.
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
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tributary::http {

enum class HttpMethod : std::uint8_t { kGet, kPost, kDelete };
// "GET", "POST", "DELETE".
std::string_view MethodName(HttpMethod method);

// The names of header fields compare without case.
struct FieldNameLess {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const;
};
using HttpHeaders = std::map<std::string, std::string, FieldNameLess>;

// The other side of a connection.
struct HttpPeer {
  std::string address = {};          // "192.0.2.7:5000"
  bool tls = false;                  // the connection is encrypted
  std::string certificate_pem = {};  // which the client has proved to own; empty: none
};

// Who asks, as far as the server's gate has found out.
struct HttpCaller {
  std::string name = {};        // empty: not known
  std::string way = {};         // "certificate", "token", "session", "anonymous"
  std::string credential = {};  // the token's id
  std::string role = {};        // the highest one: "viewer", "operator"; empty: none
};

struct HttpRequest {
  std::string path = {};                          // decoded, without the query
  std::map<std::string, std::string> query = {};  // decoded; a repeated key has its last value
  std::string rest = {};                          // what stands in the hole of the route's pattern
  HttpMethod method = HttpMethod::kGet;
  std::string_view route = {};  // "POST /api/v1/runs/{run}/pause": the route that was found
  HttpHeaders headers = {};     // the values of a repeated one are joined by ", "
  std::string body = {};
  std::shared_ptr<const HttpPeer> peer = {};
  HttpCaller caller = {};

  // A parameter of the query; empty if it is absent.
  std::string Parameter(const std::string& key) const {
    const auto found = query.find(key);
    return found == query.end() ? std::string() : found->second;
  }
  // A field of the header; empty if it is absent.
  std::string Header(std::string_view name) const {
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
  std::string body = {};
  // Further fields, each name once; they replace the server's own, such as `Cache-Control: no-store`.
  std::vector<std::pair<std::string, std::string>> headers = {};
};

// One line of JSON.
HttpResponse HttpJson(const std::string& json, int status = 200);

// The answer to every fault, of the server and of handlers: {"code": "NOT_FOUND", "error": "what is wrong"},
// application/json. The code is one of gRPC's; without a Status the one that fits the HTTP status.
HttpResponse HttpProblem(int status, std::string_view error);
HttpResponse HttpProblem(const absl::Status& status);

// One server-sent event; both texts without line breaks.
struct HttpEvent {
  std::string data;
  std::string id = {};  // a reader that connects again sends it in the header Last-Event-ID; empty: none
};

// Server-sent events: every `interval`, `next` returns one event or nothing. Streams of the same interval are
// asked at the same moments. The server does not ask while the client still reads the previous event, so a
// slow reader gets the latest.
struct HttpEventStream {
  std::chrono::microseconds interval{100'000};
  std::function<std::optional<HttpEvent>()> next;
};

// A body that is too large for the memory. `next` gives its next piece, at most kMostPieceBytes and never
// empty, until all `bytes` have come; an error ends the connection, so that the reader sees a body cut short.
struct HttpDownload {
  static constexpr std::size_t kMostPieceBytes = std::size_t{256} << 10;

  std::uint64_t bytes = 0;
  std::function<absl::StatusOr<std::string>()> next;
  std::string content_type = "application/octet-stream";
  std::vector<std::pair<std::string, std::string>> headers = {};
};

// An answer that another thread finds. `begin` is called once and returns at once; it gives `done` to whoever
// has the answer, who calls it once, on any thread. A call after HttpLimits::patience comes too late and does
// nothing.
struct HttpPending {
  using Answer = std::variant<HttpResponse, HttpDownload>;
  using Done = std::function<void(Answer)>;
  std::function<void(Done done)> begin;
};

using HttpAnswer = std::variant<HttpResponse, HttpEventStream, HttpDownload, HttpPending>;

}  // namespace tributary::http
