// Frames of HTTP/2, and connections that say them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

#include "tests/faults/attacks/attack.h"
#include "tests/faults/attacks/raw_socket.h"

namespace tributary::testing {

inline constexpr char kData = 0, kHeaders = 1, kReset = 3, kSettings = 4, kPing = 6, kContinuation = 9,
                      kEndHeaders = 4, kEndStream = 1;

inline std::string Frame(char type, char flags, std::uint32_t stream, const std::string& payload) {
  std::string frame;
  for (const int shift : {16, 8, 0}) frame += static_cast<char>(payload.size() >> shift);
  frame += type;
  frame += flags;
  for (const int shift : {24, 16, 8, 0}) frame += static_cast<char>(stream >> shift);
  return frame + payload;
}

inline std::string Preface() {
  return std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") + Frame(kSettings, 0, 0, "");
}

// A header that is not indexed.
inline std::string Literal(const std::string& name, const std::string& value) {
  return std::string(1, '\0') + static_cast<char>(name.size()) + name + static_cast<char>(value.size()) +
         value;
}

// :method POST, :scheme http.
inline std::string CallHeaders(const std::string& path) {
  return "\x83\x86" + Literal(":path", path) + Literal(":authority", "x") +
         Literal("content-type", "application/grpc") + Literal("te", "trailers");
}

// As gRPC frames it.
inline std::string Message(const std::string& bytes) {
  std::string message(1, '\0');
  for (const int shift : {24, 16, 8, 0}) message += static_cast<char>(bytes.size() >> shift);
  return message + bytes;
}

// A whole call with an empty message: gRPC counts a call when its message is complete.
inline std::string WholeCall(std::uint32_t stream, const std::string& headers) {
  return Frame(kHeaders, kEndHeaders, stream, headers) +
         Frame(kData, kEndStream, stream, std::string(5, '\0'));
}

// Repeats `speak` on a connection that `connect` opens until it fails, and then on a new one.
template <class Connect, class Speak>
void OnConnections(const Target& target, const Connect& connect, const Speak& speak) {
  while (!target.over) {
    auto socket = connect();
    if (!socket.open() || !socket.Send(Preface())) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      continue;
    }
    speak(socket);
  }
}

template <class Speak>
void OnConnections(const Target& target, const Speak& speak) {
  OnConnections(
      target, [&] { return RawSocket(target.port); }, speak);
}

// gRPC answers it by itself: no call comes of it.
inline std::string WithoutAPath(std::uint32_t stream) {
  return Frame(kHeaders, kEndHeaders | kEndStream, stream, "\x83\x86");
}

}  // namespace tributary::testing
