// Any text of a peer: what is logged is short and harmless, and what is sent on fits in a client's metadata.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/ascii.h"
#include "core/wire/json.h"
#include "core/wire/peer.h"
#include "tributary/v1/fusion.pb.h"

namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

// As gRPC encodes it.
std::size_t SentBytes(const std::string& text) {
  std::size_t bytes = 0;
  for (const char c : text) bytes += c < 0x20 || c > 0x7e || c == '%' ? 3 : 1;
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace tributary;
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  const std::string shown = wire::PeerText(text);
  Require(shown.size() <= 4 * 240);
  Require(std::ranges::none_of(shown, [](unsigned char c) { return absl::ascii_iscntrl(c); }));
  const int code = size == 0 ? 0 : bytes[0] % 17;
  const absl::Status received = wire::PeerStatus(grpc::Status(static_cast<grpc::StatusCode>(code), text));
  Require(received.ok() == (code == 0));
  const grpc::Status sent = wire::ToGrpcStatus(absl::Status(static_cast<absl::StatusCode>(code), text));
  Require(SentBytes(sent.error_message()) <= 4096);
  Require(!wire::EnumLabel(static_cast<v1::RefusalReason>(code)).empty());
  return 0;
}
