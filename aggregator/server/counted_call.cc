#include "aggregator/server/counted_call.h"

#include <chrono>
#include <optional>

#include "aggregator/server/front_door.h"

namespace tributary::server {

CountedCall::CountedCall(ConnectionTable& connections, const std::string& peer)
    : connections_(connections), peer_(PeerOf(peer)) {
  if (const std::optional<Socket> cut = connections_.BeginCall(peer_)) FrontDoor::Cut(*cut);
}

CountedCall::~CountedCall() { connections_.EndCall(peer_); }

void CountedCall::CountAsRare() {
  const auto second = std::chrono::floor<std::chrono::seconds>(std::chrono::steady_clock::now());
  const std::optional<Socket> cut = connections_.NoteRareCall(peer_, second.time_since_epoch().count());
  if (cut) FrontDoor::Cut(*cut);
}

}  // namespace tributary::server
