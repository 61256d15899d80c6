#include "aggregator/server/handshake_failures.h"

#include <grpc/support/log.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <string>

#include "core/runtime/log.h"
#include "core/wire/peer.h"

namespace tributary::server {
namespace {

HandshakeCounts& Counts() {
  static HandshakeCounts counts = {};
  return counts;
}

HandshakeFault FaultOf(std::string_view message) {
  const auto says = [message](std::string_view words) {
    return message.find(words) != std::string_view::npos;
  };
  if (says("timed out") || says("imeout") || says("Deadline")) return HandshakeFault::kTimeout;
  if (says("Socket closed") || says("reset by peer") || says("EOF") || says("hung up")) {
    return HandshakeFault::kClosed;
  }
  return HandshakeFault::kRefused;
}

// " with ipv4:192.0.2.7:5000", if the message names the peer.
std::string PeerIn(std::string_view message) {
  constexpr std::string_view kKey = "target_address:\"";
  const std::size_t begin = message.find(kKey);
  if (begin == std::string_view::npos) return "";
  const std::string_view rest = message.substr(begin + kKey.size());
  return " with " + wire::PeerText(std::string(rest.substr(0, rest.find('"'))));
}

std::string Explain(HandshakeFault fault, std::string_view message) {
  if (fault == HandshakeFault::kTimeout) return "it took too long";
  if (fault == HandshakeFault::kClosed) return "the peer hung up";
  if (message.find("wrong version number") != std::string_view::npos ||
      message.find("http request") != std::string_view::npos) {
    return "the peer speaks no TLS: give it certificate, key and ca";
  }
  const std::string advice = wire::HandshakeAdvice(message);
  return advice.empty() ? wire::PeerText(std::string(message)) : advice;
}

void ReadLine(gpr_log_func_args* line) {
  constexpr std::string_view kFailed = "Handshaking failed: ";
  std::string_view message(line->message);
  if (!message.starts_with(kFailed)) return;
  message.remove_prefix(kFailed.size());
  const HandshakeFault fault = FaultOf(message);
  ++Counts()[static_cast<std::size_t>(fault)];
  struct Lines {
    runtime::LogLimit limit{5, 30'000'000'000};
  };
  static std::array<Lines, kHandshakeFaults> lines;
  const auto more = lines[static_cast<std::size_t>(fault)].limit.Admit(
      std::chrono::steady_clock::now().time_since_epoch().count());
  if (!more) return;
  runtime::LogWarning("a TLS handshake{} failed: {}{}", PeerIn(message), Explain(fault, message), *more);
}

}  // namespace

const HandshakeCounts& CountHandshakeFailures() {
  const char* verbosity = std::getenv("GRPC_VERBOSITY");
  if (verbosity == nullptr || std::string_view(verbosity) == "NONE") {
    gpr_set_log_verbosity(GPR_LOG_SEVERITY_DEBUG);
    gpr_set_log_function(ReadLine);
  }
  return Counts();
}

}  // namespace tributary::server
