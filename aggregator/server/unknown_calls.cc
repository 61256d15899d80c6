#include "aggregator/server/unknown_calls.h"

#include <string>

#include "aggregator/server/counted_call.h"

namespace tributary::server {

// Deletes itself.
class UnknownCalls::Refusal final : public grpc::ServerGenericBidiReactor {
 public:
  Refusal(ConnectionTable& connections, const std::string& peer) : counted_(connections, peer, "") {
    counted_.CountAsRare();
    Finish(grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "there is no such call"));
  }
  void OnDone() override { delete this; }

 private:
  CountedCall counted_;
};

grpc::ServerGenericBidiReactor* UnknownCalls::CreateReactor(grpc::GenericCallbackServerContext* context) {
  ++count_;
  return new Refusal(connections_, context->peer());
}

}  // namespace tributary::server
