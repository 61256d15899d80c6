#include "aggregator/server/unknown_calls.h"

#include <string>

#include "aggregator/server/counted_call.h"
#include "core/wire/peer.h"

namespace tributary::server {

// Deletes itself.
class UnknownCalls::Refusal final : public grpc::ServerGenericBidiReactor {
 public:
  Refusal(ConnectionTable& connections, const grpc::GenericCallbackServerContext& context)
      : counted_(connections, context.peer(),
                 wire::PeerCertificateName(*context.auth_context()).value_or("")) {
    counted_.CountAsRare();
    Finish(grpc::Status(grpc::StatusCode::UNIMPLEMENTED,
                        "there is no such call; those of runs and models need [federation] in the "
                        "aggregator's configuration"));
  }
  void OnDone() override { delete this; }

 private:
  CountedCall counted_;
};

grpc::ServerGenericBidiReactor* UnknownCalls::CreateReactor(grpc::GenericCallbackServerContext* context) {
  ++count_;
  return new Refusal(connections_, *context);
}

}  // namespace tributary::server
