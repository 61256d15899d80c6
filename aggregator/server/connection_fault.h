// Why a connection is refused or cut.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tributary::server {

// Why a connection was refused or cut.
enum class ConnectionFault : std::uint8_t {
  kTooMany,           // in all
  kTooManyOfAddress,  // from its address
  kTooManySilent,     // that have not made a call yet, in all
  kTooManySilentOfAddress,
  kNoDescriptor,  // the process has no file descriptor left
  kTooManyCalls,  // the connection has more calls than it may have streams, or there are too many in all
  kTooManyCallsOfPeer,  // its peer has more calls than its share of all
  kCallRate,            // its calls follow each other too fast
  kResets,              // the connection resets its streams as fast as it opens them
  kQuarantined,         // its address had a connection cut a moment ago
  kNoCall,              // it sent more than any call begins with, and no call came of it
  kMemory,              // the process has nearly used up its memory
  kStall,               // what it sends keeps gRPC busy, and nothing comes of it
  kNoFirstWords,        // it has not begun to speak in time
  kMalformed,           // its peer sends requests that no node makes
  kGaveUp,              // it had to wait, for what its address has cost, and its peer has hung up
  kLongHeader,          // a header is longer than any that is admitted
  kLongHandshake,       // more bytes than kMostOfAHandshake
};
inline constexpr std::size_t kConnectionFaults = 18;

// "too_many", "too_many_of_address" …: the label of a metric.
constexpr std::string_view ConnectionFaultName(ConnectionFault fault) {
  constexpr std::array<std::string_view, kConnectionFaults> kNames = {"too_many",
                                                                      "too_many_of_address",
                                                                      "too_many_silent",
                                                                      "too_many_silent_of_address",
                                                                      "no_descriptor",
                                                                      "too_many_calls",
                                                                      "too_many_calls_of_peer",
                                                                      "call_rate",
                                                                      "resets",
                                                                      "quarantined",
                                                                      "no_call",
                                                                      "memory",
                                                                      "stall",
                                                                      "no_first_words",
                                                                      "malformed",
                                                                      "gave_up",
                                                                      "long_header",
                                                                      "long_handshake"};
  return kNames[static_cast<std::size_t>(fault)];
}

// The same for a line of the log, as what follows "because".
constexpr std::string_view ConnectionFaultText(ConnectionFault fault) {
  constexpr std::array<std::string_view, kConnectionFaults> kTexts = {
      "ingest.max_connections are open",
      "ingest.max_connections_per_address are open from there",
      "too many are open that have made no call",
      "too many from there are open that have made no call",
      "this process may open no more files: raise LimitNOFILE",
      "more calls are open than one connection, or ingest.max_calls, may have",
      "its peer has more than half of ingest.max_calls open",
      "its calls follow each other faster than any node's",
      "it resets its calls as fast as it opens them",
      "its address stays out for a while, as a line before says",
      "it sends more than any call begins with, and no call comes of it",
      "memory has nearly run out, and it sends most",
      "what it sends keeps this process busy, and nothing comes of it",
      "it has said nothing for 10 s",
      "its requests are such as no node makes",
      "it had to wait, for what its address has cost, and has hung up",
      "a header is longer than any that a node sends",
      "it sends more than 8 KiB before its handshake is over: its certificates are too many or too large"};
  return kTexts[static_cast<std::size_t>(fault)];
}

}  // namespace tributary::server
