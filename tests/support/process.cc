#include "tests/support/process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

extern char** environ;

namespace tributary::testing {
namespace {

constexpr auto kPoll = std::chrono::milliseconds(5);

int ExitCode(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

}  // namespace

Process::Process(const std::string& program, std::vector<std::string> arguments, std::string log_path)
    : log_path_(std::move(log_path)) {
  const std::string path = std::filesystem::path(TRIBUTARY_BIN_DIR) / program;
  std::vector<char*> argv = {const_cast<char*>(path.c_str())};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, log_path_.c_str(), O_WRONLY | O_CREAT | O_APPEND,
                                   0600);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log_path_.c_str(), O_WRONLY | O_CREAT | O_APPEND,
                                   0600);
  const int error = posix_spawn(&pid_, path.c_str(), &files, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) throw std::runtime_error("cannot start " + path);
}

Process::~Process() {
  if (!Running()) return;
  Signal(SIGKILL);
  Wait(std::chrono::seconds(10));
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      exit_code_(other.exit_code_),
      log_path_(std::move(other.log_path_)) {}

Process& Process::operator=(Process&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(exit_code_, other.exit_code_);
  std::swap(log_path_, other.log_path_);
  return *this;
}

void Process::Signal(int number) const {
  if (pid_ > 0) kill(pid_, number);
}

bool Process::Running() {
  if (pid_ <= 0) return false;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return true;
  exit_code_ = ExitCode(status);
  pid_ = -1;
  return false;
}

int Process::Wait(std::chrono::milliseconds limit) {
  WaitFor([this] { return !Running(); }, limit);
  return pid_ > 0 ? -1 : exit_code_;
}

std::string Process::Log() const { return ReadText(log_path_); }

std::string ReadText(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

ScratchFolder::ScratchFolder() {
  std::string pattern = std::filesystem::temp_directory_path() / "tributary.XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot create " + pattern);
  path_ = pattern;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string ScratchFolder::Write(const std::string& name, const std::string& content) const {
  std::ofstream(Path(name)) << content;
  return Path(name);
}

int ReservePort() {
  using boost::asio::ip::tcp;
  using boost::asio::local::stream_protocol;
  constexpr int kFirst = 10'000;
  constexpr int kCount = 20'000;
  static boost::asio::io_context context;
  // Names in the abstract namespace of Unix sockets serve as reservations: they end with the process.
  static std::vector<stream_protocol::acceptor> reservations;
  static int next = static_cast<int>(std::random_device()() % kCount);
  for (int tried = 0; tried < kCount; ++tried, next = (next + 1) % kCount) {
    const int port = kFirst + next;
    stream_protocol::acceptor reservation(context, stream_protocol());
    boost::system::error_code taken;
    reservation.bind(
        stream_protocol::endpoint(std::string(1, '\0') + "tributary.port." + std::to_string(port)), taken);
    if (taken) continue;
    tcp::acceptor listener(context, tcp::v4());
    listener.bind({boost::asio::ip::address_v4::loopback(), static_cast<unsigned short>(port)}, taken);
    if (taken) continue;
    reservations.push_back(std::move(reservation));
    ++next;
    return port;
  }
  throw std::runtime_error("no port is free");
}

bool WaitFor(const std::function<bool()>& condition, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= end) return condition();
    std::this_thread::sleep_for(kPoll);
  }
  return true;
}

std::string HttpGet(int port, const std::string& target) {
  namespace beast = boost::beast;
  try {
    boost::asio::io_context context;
    beast::tcp_stream stream(context);
    stream.expires_after(std::chrono::seconds(5));
    stream.connect({boost::asio::ip::address_v4::loopback(), static_cast<unsigned short>(port)});
    beast::http::request<beast::http::empty_body> request(beast::http::verb::get, target, 11);
    request.set(beast::http::field::host, "localhost");
    request.set(beast::http::field::connection, "close");
    beast::http::write(stream, request);
    beast::flat_buffer buffer;
    beast::http::response<beast::http::string_body> response;
    beast::http::read(stream, buffer, response);
    return response.result() == beast::http::status::ok ? response.body() : std::string();
  } catch (const std::exception&) {
    return {};
  }
}

double MetricValue(const std::string& text, const std::string& name) {
  const std::size_t at = ("\n" + text).find("\n" + name + " ");
  if (at == std::string::npos) return std::numeric_limits<double>::quiet_NaN();
  return std::strtod(text.c_str() + at + name.size() + 1, nullptr);
}

}  // namespace tributary::testing
