// Places of which each peer may have a share, so that one peer does not shut out the others.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>

namespace tributary::server {

// The places of one ingest thread.
inline constexpr std::size_t kReportPlaces = 1024;
inline constexpr std::size_t kWatchPlaces = 512;

// One thread at a time. A peer is whoever a certificate names, or without TLS an address.
class PeerShares {
 public:
  PeerShares(std::size_t places, std::size_t of_peer) : places_(places), of_peer_(of_peer) {}

  // False: all places are taken, or all that the peer may have.
  bool Take(const std::string& peer) {
    if (taken_ >= places_ || of(peer) >= of_peer_) return false;
    ++taken_;
    ++by_peer_[peer];
    return true;
  }
  void GiveBack(const std::string& peer) {
    const auto found = by_peer_.find(peer);
    if (found == by_peer_.end()) return;
    --taken_;
    if (--found->second == 0) by_peer_.erase(found);
  }
  std::size_t of(const std::string& peer) const {
    const auto found = by_peer_.find(peer);
    return found == by_peer_.end() ? 0 : found->second;
  }

 private:
  const std::size_t places_;
  const std::size_t of_peer_;
  std::size_t taken_ = 0;
  std::unordered_map<std::string, std::size_t> by_peer_;
};

}  // namespace tributary::server
