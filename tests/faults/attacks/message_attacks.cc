// Messages of which little comes and which cost much once they are parsed, and many small ones at once.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/faults/attacks/attack.h"
#include "tests/faults/attacks/evil_hello.h"
#include "tests/faults/attacks/frames.h"
#include "tests/faults/attacks/raw_socket.h"

namespace tributary::testing {
namespace {

using std::chrono::milliseconds;

constexpr const char* kCheck = "/grpc.health.v1.Health/Check";
constexpr const char* kReport = "/tributary.v1.FusionService/Report";
// Fits into the window of a new connection, beside a hello.
constexpr std::size_t kBytes = 60'000;

std::string Repeated(const std::string& bytes, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += bytes;
  return all;
}

// In frames of the size that everybody takes.
std::string DataOf(std::uint32_t stream, const std::string& message) {
  constexpr std::size_t kMost = 16'384;
  std::string frames;
  for (std::size_t at = 0; at < message.size(); at += kMost) {
    frames += Frame(kData, 0, stream, message.substr(at, kMost));
  }
  return frames;
}

// Connections that have sent `bytes` but for the last one send all last bytes together.
void CompleteTogether(const Target& target, int connections, const std::string& bytes) {
  while (!target.over) {
    std::vector<std::unique_ptr<RawSocket>> open;
    for (int i = 0; i < connections && !target.over; ++i) {
      auto socket = std::make_unique<RawSocket>(target.port);
      if (!socket->open() || !socket->Send(Preface() + bytes.substr(0, bytes.size() - 1))) continue;
      open.push_back(std::move(socket));
    }
    std::this_thread::sleep_for(milliseconds(200));
    for (const auto& each : open) each->Send(bytes.substr(bytes.size() - 1));
    std::this_thread::sleep_for(milliseconds(500));
  }
}

// Two bytes are a field of a hundred in memory.
void CompleteUnknownFields(const Target& target) {
  const std::string message = Message(Repeated(std::string("\x7a\0", 2), kBytes / 2));
  CompleteTogether(target, 100, Frame(kHeaders, kEndHeaders, 1, CallHeaders(kCheck)) + DataOf(1, message));
}

// A second hello, of empty sources.
void CompleteSecondHellos(const Target& target) {
  const std::string empty_sources = Repeated(std::string("\x22\0", 2), kBytes / 2);
  std::string hello(1, '\x0a');  // field 1; its length as a varint
  for (std::size_t left = empty_sources.size(); left > 0; left /= 128) {
    hello += static_cast<char>(left % 128 + (left >= 128 ? 128 : 0));
  }
  CompleteTogether(target, 100,
                   Frame(kHeaders, kEndHeaders, 1, CallHeaders(kReport)) +
                       DataOf(1, Message(EvilHello("evil", 0, 1))) +
                       DataOf(1, Message(hello + empty_sources)));
}

// Each connection has made a call, and then sends four that gRPC answers by itself, all at the same instant.
void SendAFewHeadersTogether(const Target& target) {
  const std::string call = Preface() + WholeCall(1, CallHeaders(kCheck));
  while (!target.over) {
    std::vector<std::unique_ptr<RawSocket>> open;
    for (int i = 0; i < 480 && !target.over; ++i) {
      auto socket = std::make_unique<RawSocket>(target.port);
      if (!socket->open() || !socket->Send(call)) continue;
      open.push_back(std::move(socket));
    }
    for (std::uint32_t stream = 3; !open.empty() && !target.over;) {
      std::this_thread::sleep_for(milliseconds(300));
      std::string headers;
      for (int i = 0; i < 4; ++i, stream += 2) headers += WithoutAPath(stream);
      std::erase_if(open, [&](const auto& each) { return !each->Send(headers); });
    }
  }
}

constexpr Attack kAttacks[] = {
    {"unknown_fields", CompleteUnknownFields},
    {"second_hellos", CompleteSecondHellos},
    {"a_few_headers_at_once", SendAFewHeadersTogether},
};

}  // namespace

std::span<const Attack> MessageAttacks() { return kAttacks; }

}  // namespace tributary::testing
