// What an HTTP server allows, and what it has counted.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tributary::http {

struct HttpLimits {
  std::size_t connections = 96;  // beyond, the one that has waited longest for a request gives way, else 503
  std::size_t connections_of_address = 32;     // of another machine: an IPv4 address, or 64 bits of IPv6
  std::size_t streams = 32;                    // of events; answers 503 beyond
  std::size_t streams_of_caller = 16;          // by name, else by address; answers 503 beyond
  std::size_t header_bytes = 8192;             // answers 431 beyond
  std::size_t body_bytes = 64 << 10;           // of a request, whatever its route allows; answers 413 beyond
  std::size_t sent_bytes = 8 << 20;            // of all answers being sent; answers 503 beyond
  std::chrono::milliseconds timeout{10'000};   // of a handshake, a header, a body, a piece of an answer
  std::chrono::milliseconds patience{60'000};  // for an HttpPending; answers 504 beyond
  std::chrono::milliseconds judge_every{500};  // how often the gate is asked about an open event stream
};

// Why a connection was closed before it had made a request.
enum class HttpRefusal : std::uint8_t {
  kTooMany,           // connections in all
  kTooManyOfAddress,  // from one address
  kHandshake,         // a certificate that does not fit, or no TLS
  kHandshakeTimeout,
  kHandshakeClosed,  // the peer hung up
  kSlow,             // the header or the body did not come in time
  kGaveWay,          // it had no request under way when all places were taken
};
inline constexpr std::size_t kHttpRefusals = 7;

// "too_many" …: the label of a metric.
constexpr std::string_view HttpRefusalName(HttpRefusal refusal) {
  constexpr std::array<std::string_view, kHttpRefusals> kNames = {
      "too_many", "too_many_of_address", "handshake", "handshake_timeout", "handshake_closed", "slow",
      "gave_way"};
  return kNames[static_cast<std::size_t>(refusal)];
}

// The server's thread writes them; any thread reads.
struct HttpCounters {
  using Count = std::atomic<std::uint64_t>;
  // What a request can be refused with; the last one stands for all others.
  static constexpr std::array<int, 17> kStatuses = {400, 401, 403, 404, 405, 409, 413, 415, 421,
                                                    429, 431, 500, 501, 502, 503, 504, 0};

  Count requests = 0;           // answered, whatever the status
  Count rejected_requests = 0;  // of these with a status of 400 or more
  std::array<Count, kStatuses.size()> rejected_by_status = {};
  Count failed_handlers = 0;  // that threw: their connection was closed
  std::array<Count, kHttpRefusals> refused = {};
  Count ended_streams = 0;     // of events, that the gate no longer admits
  Count open_connections = 0;  // now
  Count open_streams = 0;      // now

  void CountAnswer(int status) {
    ++requests;
    if (status < 400) return;
    ++rejected_requests;
    std::size_t i = 0;
    while (kStatuses[i] != status && kStatuses[i] != 0) ++i;
    ++rejected_by_status[i];
  }
  void CountRefusal(HttpRefusal refusal) { ++refused[static_cast<std::size_t>(refusal)]; }
};

}  // namespace tributary::http
