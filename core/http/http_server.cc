#include "core/http/http_server.h"

#include <fmt/format.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "core/http/http_connection.h"
#include "core/http/http_service.h"
#include "core/http/http_tls.h"
#include "core/runtime/address.h"
#include "core/runtime/log.h"
#include "core/runtime/thread_rank.h"
#include "core/status/macros.h"

namespace tributary::http {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

}  // namespace

// The server's thread, once it runs.
struct HttpServer::Sockets {
  explicit Sockets(HttpService& served) : service(served), acceptor(served.io), accept_retry(served.io) {}

  void Accept();
  void Take(asio::ip::tcp::socket socket);

  HttpService& service;
  asio::ip::tcp::acceptor acceptor;
  asio::steady_timer accept_retry;
  std::unique_ptr<LiveTlsContext> tls;  // null: plain HTTP
  std::jthread thread;
};

HttpServer::HttpServer(HttpLimits limits)
    : service_(std::make_unique<HttpService>(limits)), sockets_(std::make_unique<Sockets>(*service_)) {}
HttpServer::~HttpServer() { Stop(); }

void HttpServer::Route(HttpRoute route) { service_->routes.Add(std::move(route)); }

std::vector<std::string> HttpServer::Routes() const { return service_->routes.Names(); }

void HttpServer::AddHeader(std::string name, std::string value) {
  service_->headers.emplace_back(std::move(name), std::move(value));
}

void HttpServer::SetGate(HttpGate gate) { service_->gate = std::move(gate); }

void HttpServer::SetTls(config::TlsSource tls) {
  sockets_->tls = tls == nullptr ? nullptr : std::make_unique<LiveTlsContext>(std::move(tls));
}

const HttpCounters& HttpServer::counters() const { return service_->counters; }

absl::Status HttpServer::Start(const std::string& listen) {
  RETURN_IF_ERROR(Bind(listen));
  Serve();
  return absl::OkStatus();
}

absl::Status HttpServer::Bind(const std::string& listen) {
  ASSIGN_OR_RETURN(const runtime::HostPort address, runtime::ParseHostPort(listen));
  if (sockets_->tls != nullptr && sockets_->tls->Get() == nullptr) {
    return absl::InvalidArgumentError(fmt::format("{}: TLS cannot use the certificate", listen));
  }
  error_code error;
  asio::ip::tcp::resolver resolver(service_->io);
  const auto found =
      resolver.resolve(address.host, std::to_string(address.port), asio::ip::tcp::resolver::passive, error);
  if (error || found.empty()) {
    return absl::UnavailableError(fmt::format("{}: cannot listen there: the host is not known", listen));
  }
  try {
    sockets_->acceptor = asio::ip::tcp::acceptor(service_->io, found.begin()->endpoint());
  } catch (const boost::system::system_error& fault) {
    return absl::UnavailableError(
        fmt::format("{}: cannot listen there: {}", listen, runtime::WhyNotListen(fault.code().value())));
  }
  port_ = sockets_->acceptor.local_endpoint(error).port();
  return absl::OkStatus();
}

void HttpServer::Serve() {
  sockets_->Accept();
  sockets_->thread = std::jthread([this] {
    runtime::EnterThread("http", runtime::ThreadRank::kBackground);
    while (true) {
      try {
        service_->io.run();
        return;
      } catch (const std::exception& fault) {
        // A handler that throws costs its connection, not the server.
        ++service_->counters.failed_handlers;
        runtime::LogError("http: a handler failed: {}", fault.what());
      }
    }
  });
}

void HttpServer::Sockets::Accept() {
  acceptor.async_accept([this](error_code error, asio::ip::tcp::socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (error) {
      // Probably out of file descriptors: do not retry in a tight loop.
      accept_retry.expires_after(std::chrono::milliseconds(100));
      accept_retry.async_wait([this](error_code stopped) {
        if (!stopped) Accept();
      });
      return;
    }
    Take(std::move(socket));
    Accept();
  });
}

void HttpServer::Sockets::Take(asio::ip::tcp::socket socket) {
  HttpCounters& counters = service.counters;
  const HttpLimits& limits = service.limits;
  const bool all_taken = counters.open_connections >= limits.connections;
  // Who sends half a request, or none, does not keep the others out.
  const bool full = all_taken && service.waiting.empty();
  error_code ignored;
  const std::string host = HostOf(socket.remote_endpoint(ignored).address());
  const auto found = service.of_address.find(host);
  const bool greedy =
      !host.empty() && found != service.of_address.end() && found->second >= limits.connections_of_address;
  if (full || greedy) counters.CountRefusal(full ? HttpRefusal::kTooMany : HttpRefusal::kTooManyOfAddress);
  // Beyond twice the limit, close without an answer. One more TLS handshake would cost more than it tells.
  if (counters.open_connections >= 2 * limits.connections) return;
  if ((full || greedy) && tls != nullptr) return;
  if (all_taken && !full && !greedy) service.waiting.front()->GiveWay();
  auto connection =
      std::make_shared<HttpConnection>(service, std::move(socket), tls == nullptr ? nullptr : tls->Get());
  if (full || greedy) {
    connection->Reject(503, full ? "too many connections" : "too many connections from your address");
  } else {
    connection->Start();
  }
}

void HttpServer::Stop() {
  service_->mailbox->Close();
  service_->io.stop();
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
    for (std::size_t i = 0; i < HttpCounters::kStatuses.size(); ++i) {
      const int status = HttpCounters::kStatuses[i];
      to.Counter("tributary_http_requests_rejected_total",
                 "HTTP requests answered with a status of 400 or more.",
                 {{"status", status == 0 ? "other" : std::to_string(status)}},
                 counters.rejected_by_status[i].load());
    }
    to.Reasons("tributary_http_connections_refused_total",
               "HTTP connections refused or closed before they had made a request, by reason: a limit, a TLS "
               "handshake that failed, or a request that was too slow.",
               {}, counters.refused, HttpRefusalName);
    to.Counter("tributary_http_failed_handlers_total",
               "HTTP requests whose handler failed; error in the log.", {}, counters.failed_handlers.load());
    to.Counter("tributary_http_event_streams_ended_total",
               "Event streams ended because their reader may no longer read them.", {},
               counters.ended_streams.load());
    to.Gauge("tributary_http_open_connections", "Open HTTP connections.", {}, counters.open_connections);
    to.Gauge("tributary_http_event_streams", "Open event streams.", {}, counters.open_streams);
  });
}

}  // namespace tributary::http
