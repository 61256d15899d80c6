// A call that counts for its connection and its peer.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "aggregator/server/connection_table.h"

namespace tributary::server {

// gRPC ends a call that its peer resets some time after the reset. Meanwhile the peer may open the next one:
// a hundred thousand in ten seconds, of 13 kB each. So each call counts from its begin until gRPC has let go
// of it, and resets count: the connection of such a peer is cut and its address stays out for a while. The
// table outlives the call.
class CountedCall {
 public:
  // `peer`: as gRPC names it; `name`: of its certificate, empty without TLS.
  CountedCall(ConnectionTable& connections, const std::string& peer, std::string_view name);
  ~CountedCall();
  CountedCall(const CountedCall&) = delete;
  CountedCall& operator=(const CountedCall&) = delete;

  // An honest peer makes such calls now and then: all but those of learning, where hundreds of nodes may
  // share a connection. One that makes too many of them in a second is cut off.
  void CountAsRare();
  // A rare call that costs more than others.
  void CountAsReflection();
  // A message of it has come. Any thread.
  void CountMessage() {
    if (pulse_ != nullptr) pulse_->heard.fetch_add(1, std::memory_order_relaxed);
  }
  // A message of a report that has been counted brings no frame, so it pays for nothing.
  void CountAsEmpty();
  // A message of so many bytes goes to its watcher, who answers by itself. Any thread.
  void CountSent(std::size_t bytes) {
    if (pulse_ != nullptr)
      pulse_->sent.fetch_add(1 + bytes / ConnectionPulse::kSentPiece, std::memory_order_relaxed);
  }
  // A message of so many bytes goes to whoever learns or operates, who answers by itself. Any thread.
  void CountTold(std::size_t bytes) {
    if (pulse_ != nullptr)
      pulse_->told.fetch_add(1 + bytes / ConnectionPulse::kToldPiece, std::memory_order_relaxed);
  }
  // What it makes the thread that fuses do beside reading it. Any thread.
  void CountWork(std::chrono::nanoseconds work) {
    if (pulse_ != nullptr) pulse_->work_ns.fetch_add(work.count(), std::memory_order_relaxed);
  }
  // Its request is too large, or has fields that no node sends.
  void CountAsMalformed();
  // It is a Report stream that was admitted.
  void CountAsReport();
  // It is a Report stream that ends without a hello.
  void CountAsFruitless();
  // Its peer has reset it. `report`: a Report stream without a hello.
  void CountAsReset(bool report);

  const std::string& peer() const { return peer_; }

 private:
  ConnectionTable& connections_;
  const std::string peer_;
  const std::shared_ptr<ConnectionPulse> pulse_;
  bool reports_ = false;
};

}  // namespace tributary::server
