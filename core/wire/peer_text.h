// Text from a peer.
#pragma once

#include <string>

namespace tributary::wire {

// A peer's text, fit for a log: shortened, control characters escaped.
std::string PeerText(const std::string& text);

}  // namespace tributary::wire
