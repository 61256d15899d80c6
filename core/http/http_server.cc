#include "core/http/http_server.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "core/runtime/address.h"
#include "core/status/macros.h"

namespace tributary::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;

// A comment line keeps proxies from closing the connection when there is no news.
constexpr std::chrono::seconds kKeepAlive{15};
constexpr std::chrono::milliseconds kMinInterval{10};

}  // namespace

HttpResponse HttpJson(const std::string& json, int status) {
  return {status, "application/json", json + "\n"};
}

HttpResponse HttpProblem(int status, std::string_view error) {
  const nlohmann::json problem = {{"error", error}};
  return HttpJson(problem.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), status);
}

struct HttpServer::Sockets {
  asio::io_context io{1};
  asio::ip::tcp::acceptor acceptor{io};
  asio::steady_timer accept_retry{io};
  std::jthread thread;
};

// One connection: request, response, request … or request, events. Its pending operation keeps it alive.
class HttpServer::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(HttpServer& server, asio::ip::tcp::socket socket)
      : server_(server), stream_(std::move(socket)), timer_(server.sockets_->io) {
    ++server_.counters_.open_connections;
  }
  ~Connection() {
    --server_.counters_.open_connections;
    server_.sending_bytes_ -= body_bytes_;
    if (events_) --server_.counters_.open_streams;
  }

  void Read() {
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(server_.limits_.header_bytes));
    parser_->body_limit(0);
    stream_.expires_after(server_.limits_.timeout);
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](error_code error, std::size_t) { self->OnRead(error); });
  }

  void Reject(int status, std::string_view why) {
    keep_alive_ = false;
    Send(HttpProblem(status, why));
  }

 private:
  void OnRead(error_code error) {
    if (error == http::error::header_limit) return Reject(431, "the header is too large");
    if (error == http::error::body_limit) return Reject(413, "a request has no body here");
    if (error.category() == http::make_error_code(http::error::bad_target).category() &&
        error != http::error::end_of_stream && error != http::error::partial_message) {
      return Reject(400, "the request does not parse");
    }
    if (error) return;  // closed, cut or timed out
    const auto& message = parser_->get();
    keep_alive_ = message.keep_alive();
    head_ = message.method() == http::verb::head;
    if (message.method() != http::verb::get && !head_) return Reject(405, "only GET and HEAD are served");
    absl::StatusOr<HttpRequest> request =
        ParseHttpTarget(std::string_view(message.target().data(), message.target().size()));
    if (!request.ok()) return Reject(400, std::string(request.status().message()));
    for (const auto& field : message) {
      std::string& value = request->headers[absl::AsciiStrToLower(
          absl::string_view(field.name_string().data(), field.name_string().size()))];
      if (!value.empty()) value += ", ";
      value.append(field.value().data(), field.value().size());
    }
    Answer(*request);
  }

  void Answer(HttpRequest& request) {
    const Target* target = server_.Find(request);
    if (target == nullptr) return Send(HttpProblem(404, server_.NoSuchPath()));
    for (const auto& [key, value] : request.query) {
      if (target->parameters.contains(key)) continue;
      return Send(HttpProblem(400, fmt::format("{}: no such parameter here{}{}", key,
                                               target->parameters.empty() ? "" : "; there are: ",
                                               fmt::join(target->parameters, ", "))));
    }
    HttpAnswer answer = target->handler(request);
    if (auto* response = std::get_if<HttpResponse>(&answer)) return Send(std::move(*response));
    if (server_.counters_.open_streams >= server_.limits_.streams)
      return Reject(503, "too many event streams");
    if (head_) return Send({200, "text/event-stream", ""});
    events_ = std::move(std::get<HttpEventStream>(answer));
    events_->interval = std::max<std::chrono::microseconds>(events_->interval, kMinInterval);
    ++server_.counters_.open_streams;
    ++server_.counters_.requests;
    // The end of the connection ends the response: no length, no chunks.
    WriteEvent(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n");
  }

  // Readers that are slow together hold one large answer, or many small ones.
  void Send(HttpResponse response) {
    if (server_.sending_bytes_ > 0 &&
        server_.sending_bytes_ + response.body.size() > server_.limits_.sent_bytes) {
      response = HttpProblem(503, "too many answers are being read: come back later");
    }
    ++server_.counters_.requests;
    if (response.status >= 400) ++server_.counters_.rejected_requests;
    response_.emplace();
    response_->version(11);
    response_->result(static_cast<unsigned>(response.status));
    response_->set(http::field::content_type, response.content_type);
    response_->set(http::field::cache_control, "no-store");
    response_->set("X-Content-Type-Options", "nosniff");
    for (const auto& [name, value] : response.headers) response_->set(name, value);
    response_->keep_alive(keep_alive_);
    const std::size_t length = response.body.size();
    if (!head_) response_->body() = std::move(response.body);
    body_bytes_ = response_->body().size();
    server_.sending_bytes_ += body_bytes_;
    // An answer that never has a body says nothing of its length.
    if (response.status != 204 && response.status != 304) response_->content_length(length);
    stream_.expires_after(server_.limits_.timeout);
    http::async_write(stream_, *response_, [self = shared_from_this()](error_code error, std::size_t) {
      if (error) return;
      self->server_.sending_bytes_ -= std::exchange(self->body_bytes_, 0);
      self->response_.reset();
      if (self->keep_alive_) return self->Read();
      error_code ignored;
      self->stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
    });
  }

  void WriteEvent(std::string text) {
    event_ = std::move(text);
    last_write_ = std::chrono::steady_clock::now();
    stream_.expires_after(server_.limits_.timeout);
    asio::async_write(stream_, asio::buffer(event_),
                      [self = shared_from_this()](error_code error, std::size_t) {
                        if (!error) self->WaitForEvent();
                      });
  }

  void WaitForEvent() {
    stream_.expires_never();
    // On the grid of the interval, unless the reader is already late.
    const auto now = std::chrono::steady_clock::now();
    next_event_ = std::max(next_event_ + events_->interval, now);
    timer_.expires_at(next_event_);
    timer_.async_wait([self = shared_from_this()](error_code error) {
      if (!error) self->NextEvent();
    });
  }

  void NextEvent() {
    if (const std::optional<HttpEvent> event = events_->next()) {
      const std::string id = event->id.empty() ? "" : fmt::format("id: {}\n", event->id);
      return WriteEvent(fmt::format("{}data: {}\n\n", id, event->data));
    }
    if (std::chrono::steady_clock::now() - last_write_ > kKeepAlive) return WriteEvent(":\n\n");
    WaitForEvent();
  }

  HttpServer& server_;
  beast::tcp_stream stream_;
  asio::steady_timer timer_;
  beast::flat_buffer buffer_{64 * 1024};
  std::optional<http::request_parser<http::empty_body>> parser_;
  std::optional<http::response<http::string_body>> response_;
  std::size_t body_bytes_ = 0;  // of response_, while it is being sent
  bool keep_alive_ = false;
  bool head_ = false;

  std::optional<HttpEventStream> events_;
  std::string event_;
  std::chrono::steady_clock::time_point next_event_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_write_;
};

HttpServer::HttpServer(HttpLimits limits) : limits_(limits), sockets_(std::make_unique<Sockets>()) {}
HttpServer::~HttpServer() { Stop(); }

const HttpServer::Target* HttpServer::Find(HttpRequest& request) const {
  const Target* found = nullptr;
  std::size_t longest = 0;
  for (const auto& [path, target] : routes_) {
    const bool prefix = path.size() > 1 && path.back() == '/' && request.path.starts_with(path);
    if ((prefix || path == request.path) && path.size() > longest) {
      found = &target;
      longest = path.size();
    }
  }
  if (found != nullptr) request.rest = request.path.substr(longest);
  return found;
}

std::string HttpServer::NoSuchPath() const {
  std::vector<std::string> paths;
  for (const auto& [path, target] : routes_)
    paths.push_back(path.size() > 1 && path.back() == '/' ? path + "NAME" : path);
  return fmt::format("no such path; there are: {}", fmt::join(paths, ", "));
}

absl::Status HttpServer::Start(const std::string& listen) {
  ASSIGN_OR_RETURN(const runtime::HostPort address, runtime::ParseHostPort(listen));
  error_code error;
  asio::ip::tcp::resolver resolver(sockets_->io);
  const auto found =
      resolver.resolve(address.host, std::to_string(address.port), asio::ip::tcp::resolver::passive, error);
  if (error || found.empty()) {
    return absl::UnavailableError(fmt::format("{}: cannot listen there: the host is not known", listen));
  }
  try {
    sockets_->acceptor = asio::ip::tcp::acceptor(sockets_->io, found.begin()->endpoint());
  } catch (const boost::system::system_error& fault) {
    return absl::UnavailableError(
        fmt::format("{}: cannot listen there: {}", listen, runtime::WhyNotListen(fault.code().value())));
  }
  port_ = sockets_->acceptor.local_endpoint(error).port();
  Accept();
  sockets_->thread = std::jthread([this] {
    prctl(PR_SET_NAME, "http");
    while (true) {
      try {
        sockets_->io.run();
        return;
      } catch (const std::exception&) {
        // A handler that throws costs its connection, not the server.
        ++counters_.rejected_requests;
      }
    }
  });
  return absl::OkStatus();
}

void HttpServer::Accept() {
  sockets_->acceptor.async_accept([this](error_code error, asio::ip::tcp::socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (error) {
      // Probably out of file descriptors: do not retry in a tight loop.
      sockets_->accept_retry.expires_after(std::chrono::milliseconds(100));
      sockets_->accept_retry.async_wait([this](error_code stopped) {
        if (!stopped) Accept();
      });
      return;
    }
    const bool full = counters_.open_connections >= limits_.connections;
    // Beyond twice the limit, close without a refusal.
    if (counters_.open_connections < 2 * limits_.connections) {
      auto connection = std::make_shared<Connection>(*this, std::move(socket));
      if (full) {
        connection->Reject(503, "too many connections");
      } else {
        connection->Read();
      }
    }
    if (full) ++counters_.rejected_connections;
    Accept();
  });
}

void HttpServer::Stop() {
  sockets_->io.stop();
  if (sockets_->thread.joinable()) sockets_->thread.join();
  error_code ignored;
  sockets_->acceptor.close(ignored);
}

void AddDaemonRoutes(HttpServer& server, runtime::Metrics& metrics) {
  server.Route("/metrics", [&metrics](const HttpRequest&) {
    return HttpResponse{200, "text/plain; version=0.0.4; charset=utf-8", metrics.Text()};
  });
  server.Route("/healthz", [](const HttpRequest&) { return HttpResponse{.body = "ok\n"}; });
  metrics.AddCollector([&counters = server.counters()](runtime::Reading& to) {
    to.Counter("tributary_http_requests_total", "HTTP requests answered.", {}, counters.requests.load());
    to.Counter("tributary_http_requests_rejected_total",
               "HTTP requests answered with a status of 400 or more.", {}, counters.rejected_requests.load());
    to.Counter("tributary_http_connections_rejected_total", "HTTP connections beyond the limit.", {},
               counters.rejected_connections.load());
    to.Gauge("tributary_http_open_connections", "Open HTTP connections.", {},
             static_cast<double>(counters.open_connections));
    to.Gauge("tributary_http_event_streams", "Open event streams.", {},
             static_cast<double>(counters.open_streams));
  });
}

}  // namespace tributary::http
