// How a peer of the gRPC port begins to speak.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tributary::server {

// Its beginning tells how long the first words are: so many bytes of it are enough.
inline constexpr std::string_view kHttp2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
inline constexpr std::size_t kFrameHeaderBytes = 9;
inline constexpr std::size_t kMostBeginning = kHttp2Preface.size() + kFrameHeaderBytes;

// How many bytes a peer's first words have, by their beginning: the TLS record with the ClientHello, or
// HTTP/2's preface and the header of the first frame. If the beginning is too short to tell, one more than it
// has. 0: these are other words, and gRPC says what is wrong with them.
constexpr std::size_t BytesOfFirstWords(std::string_view beginning) {
  constexpr char kHandshake = 0x16;
  constexpr std::size_t kRecordHeaderBytes = 5;
  constexpr std::size_t kMostRecordBytes = 16'384;  // RFC 8446, section 5.1
  if (beginning.empty()) return 1;
  if (beginning.front() == kHandshake) {
    if (beginning.size() < kRecordHeaderBytes) return beginning.size() + 1;
    const auto byte = [beginning](std::size_t i) {
      return std::size_t{static_cast<std::uint8_t>(beginning[i])};
    };
    const std::size_t record = byte(3) << 8 | byte(4);
    return record <= kMostRecordBytes ? kRecordHeaderBytes + record : 0;
  }
  const std::string_view preface = beginning.substr(0, kHttp2Preface.size());
  return kHttp2Preface.starts_with(preface) ? kMostBeginning : 0;
}

}  // namespace tributary::server
