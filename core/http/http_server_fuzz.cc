// Any bytes on a connection to the server: it answers with a status or closes the connection.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "core/http/http_server.h"

namespace tributary::http {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{32} << 10;

HttpServer& Server() {
  static HttpServer& server = []() -> HttpServer& {
    auto& made = *new HttpServer();
    made.Route("/metrics", [](const HttpRequest&) { return HttpResponse{.body = "up 1\n"}; });
    made.Route("/api/v1/runs/", [](const HttpRequest& request) { return HttpResponse{.body = request.rest}; },
               {"rounds", "before"});
    made.Route("/api/v1/events", [](const HttpRequest&) {
      return HttpEventStream{.next = [] { return std::optional(HttpEvent{"{}", "1"}); }};
    });
    made.Route({.method = HttpMethod::kPost,
                .pattern = "/api/v1/runs/{run}/pause",
                .handler = [](const HttpRequest& request) { return HttpResponse{.body = request.body}; },
                .body_bytes = 4096,
                .content_types = {"application/toml"}});
    made.Route({.method = HttpMethod::kDelete,
                .pattern = "/api/v1/runs/{run}",
                .handler = [](const HttpRequest& request) { return HttpResponse{.body = request.rest}; }});
    made.SetGate([](HttpRequest& request) -> std::optional<HttpResponse> {
      if (request.Header("Authorization").empty()) return std::nullopt;
      return HttpProblem(401, request.Header("Authorization"));
    });
    if (!made.Start("127.0.0.1:0").ok()) std::abort();
    return made;
  }();
  return server;
}

int Connect(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  // The fuzzer's own timer interrupts it; then it goes on.
  while (connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
         errno != EISCONN) {
    if (errno == EINTR) continue;
    std::perror("connect");
    std::abort();
  }
  // Closing resets the connection: it keeps no port busy.
  const linger reset{1, 0};
  setsockopt(socket, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  return socket;
}

// All that comes until the server closes, or the head of a stream of events.
std::string ReadAnswer(int socket) {
  std::string answer;
  char buffer[4096];
  for (ssize_t n; (n = recv(socket, buffer, sizeof buffer, 0)) > 0;) {
    answer.append(buffer, static_cast<std::size_t>(n));
    if (std::string_view(buffer, static_cast<std::size_t>(n)).find("text/event-stream") !=
        std::string::npos) {
      break;
    }
  }
  return answer;
}

}  // namespace
}  // namespace tributary::http

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace tributary::http;
  const int socket = Connect(Server().port());
  // Four times what a header may have: the rest is only more requests.
  const std::size_t end = size < kMaxBytes ? size : kMaxBytes;
  for (std::size_t sent = 0; sent < end;) {
    const ssize_t n = send(socket, bytes + sent, end - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n <= 0) break;  // the server reads no more, or its answers have to be read first
    sent += static_cast<std::size_t>(n);
  }
  shutdown(socket, SHUT_WR);
  const std::string answer = ReadAnswer(socket);
  close(socket);
  if (!answer.empty() && !answer.starts_with("HTTP/1.1 ")) std::abort();
  return 0;
}
