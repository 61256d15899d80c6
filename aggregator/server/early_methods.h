// Methods on completion queues that begin with their headers.
#pragma once

#include <grpcpp/grpcpp.h>

namespace tributary::server {

// gRPC would keep a call of one request for itself until the request is complete (access::EarlyHandler says
// why it must not). Such a method is served as a stream in both directions, whose first message is the
// request.
template <class Generated>
class EarlyMethods : public Generated {
 protected:
  // `method`: its place in the .proto file. The generated service must not have marked it.
  void BeginsEarly(int method) {
    this->MarkMethodStreamed(method, nullptr);
    this->MarkMethodAsync(method);
  }
};

}  // namespace tributary::server
