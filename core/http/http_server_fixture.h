// A server on a free port, for tests.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio.hpp>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/http/http_server.h"

namespace tributary::http {

// And raw connections to it.
class HttpServerTest : public ::testing::Test {
 protected:
  void Start(HttpLimits limits = {}) {
    server_ = std::make_unique<HttpServer>(limits);
    server_->Route("/hello", [](const HttpRequest&) { return HttpResponse{.body = "world\n"}; });
    server_->Route("/under/", [](const HttpRequest& request) { return HttpResponse{.body = request.rest}; });
    server_->Route("/seen", [](const HttpRequest& request) {
      HttpResponse response{.body = request.Header("x-word")};
      response.headers = {{"Cache-Control", "max-age=1"}, {"X-Seen", "yes"}};
      return response;
    });
    server_->Route("/", [](const HttpRequest&) { return HttpResponse{.body = "root"}; });
    server_->Route("/unchanged", [](const HttpRequest&) { return HttpResponse{.status = 304, .body = ""}; });
    server_->Route("/throws", [](const HttpRequest&) -> HttpResponse { throw std::runtime_error("no"); });
    server_->Route("/events", [](const HttpRequest&) {
      return HttpEventStream{std::chrono::milliseconds(10), [n = 0]() mutable -> std::optional<HttpEvent> {
                               const std::string number = std::to_string(n++);
                               return HttpEvent{number, "slot-" + number};
                             }};
    });
    server_->Route({.method = HttpMethod::kPost,
                    .pattern = "/echo",
                    .handler = [](const HttpRequest& request) { return HttpResponse{.body = request.body}; },
                    .body_bytes = 100,
                    .content_types = {"text/plain"}});
    server_->Route(
        {.method = HttpMethod::kDelete,
         .pattern = "/things/{thing}/parts",
         .handler = [](const HttpRequest& request) { return HttpResponse{.body = request.rest}; }});
    server_->Route("/later", [this](const HttpRequest&) {
      return HttpPending{[this](HttpPending::Done done) { later_.set_value(std::move(done)); }};
    });
    server_->Route("/pieces", [](const HttpRequest&) {
      return HttpDownload{.bytes = 6, .next = [n = 0]() mutable -> absl::StatusOr<std::string> {
                            return std::string(2, static_cast<char>('a' + n++));
                          }};
    });
    server_->Route("/torn", [](const HttpRequest&) {
      return HttpDownload{.bytes = 6, .next = [n = 0]() mutable -> absl::StatusOr<std::string> {
                            if (n++ == 0) return "ab";
                            return absl::DataLossError("the file is damaged");
                          }};
    });
    server_->Route("/headers", [](const HttpRequest&) {
      return HttpResponse{.body = "", .headers = {{"Cache-Control", "max-age=5"}, {"X-More", "yes"}}};
    });
    server_->SetGate([this](HttpRequest& request) -> std::optional<HttpResponse> {
      request.caller.name = request.Header("X-Name");
      if (!shut_ && request.Header("X-Refuse").empty()) return std::nullopt;
      return HttpProblem(403, "not you");
    });
    ASSERT_TRUE(server_->Start("127.0.0.1:0").ok());
  }
  std::string Post(const std::string& fields, const std::string& body) {
    return Send("POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + fields + "\r\n" + body);
  }

  boost::asio::ip::tcp::socket Connect() {
    boost::asio::ip::tcp::socket socket(io_);
    socket.connect({boost::asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(server_->port())});
    return socket;
  }

  // Reads until the server closes.
  std::string Send(const std::string& bytes) {
    boost::asio::ip::tcp::socket socket = Connect();
    boost::system::error_code error;
    boost::asio::write(socket, boost::asio::buffer(bytes), error);
    std::string answer;
    boost::asio::read(socket, boost::asio::dynamic_buffer(answer), error);
    return answer;
  }
  std::string Get(const std::string& target) {
    return Send("GET " + target + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  }

  boost::asio::io_context io_;
  std::promise<HttpPending::Done> later_;
  std::atomic<bool> shut_ = false;  // the gate refuses everything
  std::unique_ptr<HttpServer> server_;
};

}  // namespace tributary::http
