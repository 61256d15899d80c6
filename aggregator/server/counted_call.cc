#include "aggregator/server/counted_call.h"

#include <optional>

#include "aggregator/server/front_door.h"
#include "core/wire/peer_address.h"

namespace tributary::server {

CountedCall::CountedCall(ConnectionTable& connections, const std::string& peer, std::string_view name)
    : connections_(connections), peer_(wire::PeerOf(peer)), pulse_(connections.PulseOf(peer_)) {
  // Another peer's connection if all have too many together.
  const std::optional<Socket> cut = connections_.BeginCall(peer_, name, FrontDoor::Second());
  if (!cut) return;
  FrontDoor::CutAndQuarantine(connections_, *cut);
  for (const Socket& each : connections_.TakeCrowd(peer_, Unread))
    FrontDoor::CutAndQuarantine(connections_, each);
}

CountedCall::~CountedCall() { connections_.EndCall(peer_, reports_, pulse_.get()); }

void CountedCall::CountAsReport() {
  connections_.NoteReport(peer_);
  reports_ = true;
}

void CountedCall::CountAsRare() {
  if (const auto cut = connections_.NoteRareCall(peer_, FrontDoor::Second()))
    FrontDoor::CutAndQuarantine(connections_, *cut, peer_);
}

void CountedCall::CountAsReflection() {
  if (const auto cut = connections_.NoteReflection(peer_, FrontDoor::Second()))
    FrontDoor::CutAndQuarantine(connections_, *cut, peer_);
}

void CountedCall::CountAsMalformed() {
  if (const auto cut = connections_.NoteMalformed(peer_, FrontDoor::Second()))
    FrontDoor::CutAndQuarantine(connections_, *cut, peer_);
}

void CountedCall::CountAsEmpty() {
  if (const auto cut = connections_.NoteEmptyMessage(peer_, FrontDoor::Second()))
    FrontDoor::CutAndQuarantine(connections_, *cut, peer_);
}

void CountedCall::CountAsFruitless() {
  for (const Socket& each : connections_.NoteFruitlessReport(peer_, FrontDoor::Second()))
    FrontDoor::CutAndQuarantine(connections_, each, peer_);
}

void CountedCall::CountAsReset(bool report) {
  if (const auto cut = connections_.NoteReset(peer_, report, FrontDoor::Second()))
    FrontDoor::CutAndQuarantine(connections_, *cut);
}

}  // namespace tributary::server
