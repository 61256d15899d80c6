// A call that counts for its connection.
#pragma once

#include <string>

#include "aggregator/server/connection_table.h"

namespace tributary::server {

// gRPC ends a call that its peer resets some time after the reset. Meanwhile the peer may open the next one:
// a hundred thousand in ten seconds, of 13 kB each. So each call counts from its begin until gRPC has let go
// of it, and resets count: the connection of such a peer is cut and its address stays out for a while. The
// table outlives the call.
class CountedCall {
 public:
  // `peer`: as gRPC names it.
  CountedCall(ConnectionTable& connections, const std::string& peer);
  ~CountedCall();
  CountedCall(const CountedCall&) = delete;
  CountedCall& operator=(const CountedCall&) = delete;

  // An honest peer makes such calls now and then: all but those of learning, where hundreds of nodes may
  // share a connection. One that makes too many of them in a second is cut off.
  void CountAsRare();
  // Its peer has reset it. `report`: a Report stream without a hello.
  void CountAsReset(bool report);

  const std::string& peer() const { return peer_; }

 private:
  ConnectionTable& connections_;
  const std::string peer_;
};

}  // namespace tributary::server
