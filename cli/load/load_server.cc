#include "cli/load/load_server.h"

#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <filesystem>
#include <random>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/failure.h"
#include "core/runtime/file.h"
#include "core/status/macros.h"

namespace tributary::cli {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;
using boost::asio::ip::tcp;

// An aggregator that is stopped or overloaded accepts connections and does not answer.
constexpr std::chrono::seconds kHttpPatience{2};

// Whether it is what HTTPS, gRPC and the like answer to a request without TLS.
bool IsNoPlainHttp(const boost::system::error_code& error) {
  return error.category() == http::make_error_code(http::error::end_of_stream).category() ||
         error == boost::asio::error::connection_reset;
}

absl::StatusOr<std::string> Get(const std::string& address, const std::string& path) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return UsageError(address + ": expected host:port");
  try {
    boost::asio::io_context io;
    beast::tcp_stream stream(io);
    stream.expires_after(kHttpPatience);
    const auto wait = [&io](auto operation) {
      io.restart();
      io.run();
      return operation.get();
    };
    wait(stream.async_connect(tcp::resolver(io).resolve(address.substr(0, colon), address.substr(colon + 1)),
                              boost::asio::use_future));
    http::request<http::empty_body> request(http::verb::get, path, 11);
    request.set(http::field::host, address);
    request.set(http::field::connection, "close");
    wait(http::async_write(stream, request, boost::asio::use_future));
    beast::flat_buffer buffer;
    http::response<http::string_body> response;
    wait(http::async_read(stream, buffer, response, boost::asio::use_future));
    if (response.result() != http::status::ok) {
      return absl::UnavailableError(fmt::format("{}{}: status {}", address, path, response.result_int()));
    }
    return response.body();
  } catch (const boost::system::system_error& error) {
    if (IsNoPlainHttp(error.code())) {
      return absl::UnavailableError(fmt::format(
          "{}: no plain HTTP is served there, but HTTPS or another protocol ({}): give --http the "
          "listen of an [http] without tls, or leave --http out",
          address, error.code().message()));
    }
    return absl::UnavailableError(fmt::format("{}: {}", address, error.code().message()));
  }
}

// A port of the loopback that nobody listens on, below the range from which outgoing connections take theirs.
int FreePort() {
  constexpr int kFirst = 20'000;
  constexpr int kCount = 10'000;
  std::random_device random;
  boost::asio::io_context io;
  for (int tried = 0; tried < kCount; ++tried) {
    const int port = kFirst + static_cast<int>(random() % kCount);
    tcp::socket socket(io);
    boost::system::error_code taken;
    socket.open(tcp::v4(), taken);
    if (!taken)
      socket.bind({boost::asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(port)}, taken);
    if (!taken) return port;
  }
  return 0;
}

std::string Configuration(const LoadPlan& plan, double deadline_ms, const std::string& address,
                          const std::string& http_address) {
  std::vector<std::string> sources;
  for (std::uint32_t i = 0; i < plan.panels; ++i) sources.push_back(fmt::format("\"panel-{}\"", i));
  // Flat out, epochs run ahead of time: their age is not limited.
  return fmt::format(R"(listen = "{}"
log_level = "error"
[http]
listen = "{}"
[[site]]
name = "{}"
sources = [{}]
max_subjects = {}
deadline_ms = {:.1f}
slot_ms = {:.6f}
max_age_s = 0
max_lead_s = 0
)",
                     address, http_address, plan.site, absl::StrJoin(sources, ", "), plan.users, deadline_ms,
                     plan.slot.ms());
}

}  // namespace

absl::StatusOr<MetricSamples> ReadMetrics(const std::string& http_address) {
  ASSIGN_OR_RETURN(const std::string text, Get(http_address, "/metrics"));
  MetricSamples samples;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::size_t space = line.rfind(' ');
    double value = 0;
    if (line.empty() || line[0] == '#' || space == absl::string_view::npos) continue;
    if (absl::SimpleAtod(line.substr(space + 1), &value)) samples[std::string(line.substr(0, space))] = value;
  }
  return samples;
}

LoadServer::LoadServer()
    : address(fmt::format("127.0.0.1:{}", FreePort())),
      http_address(fmt::format("127.0.0.1:{}", FreePort())) {}

absl::StatusOr<std::unique_ptr<LoadServer>> LoadServer::Start(const LoadPlan& plan, double deadline_ms) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string program = (self.parent_path() / "tributary-aggregator").string();
  if (!std::filesystem::exists(program, error)) {
    return absl::NotFoundError(program + ": not found; build it, or name a running one with --aggregator");
  }
  auto server = std::unique_ptr<LoadServer>(new LoadServer());
  server->config_path_ =
      (std::filesystem::temp_directory_path(error) / fmt::format("tributary-load-{}.toml", getpid()))
          .string();
  const std::string text = Configuration(plan, deadline_ms, server->address, server->http_address);
  RETURN_IF_ERROR(runtime::WriteFileAtomically(server->config_path_, text));
  // A group of its own: Ctrl-C ends the load first, which then stops it.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  const char* const arguments[] = {program.c_str(), "--config", server->config_path_.c_str(), nullptr};
  const int fault = posix_spawn(&server->pid_, program.c_str(), nullptr, &attributes,
                                const_cast<char* const*>(arguments), environ);
  posix_spawnattr_destroy(&attributes);
  if (fault != 0) {
    server->pid_ = -1;
    return absl::UnavailableError(program + ": cannot be started");
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (std::chrono::steady_clock::now() < deadline) {
    if (Get(server->http_address, "/readyz").ok()) return server;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return absl::UnavailableError(program + ": not ready within ten seconds");
}

LoadServer::~LoadServer() {
  if (pid_ > 0) {
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
  }
  std::error_code ignored;
  std::filesystem::remove(config_path_, ignored);
}

}  // namespace tributary::cli
