#include "aggregator/server/call_census.h"

#include <grpcpp/server_context.h>

#include <chrono>
#include <string>
#include <string_view>

#include "aggregator/server/front_door.h"

namespace tributary::server {
namespace {

class Counted final : public grpc::experimental::Interceptor {
 public:
  Counted(ConnectionTable& connections, const std::string& peer) : call_(connections, peer) {}

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override { methods->Proceed(); }

 private:
  const CountedCall call_;
};

}  // namespace

CountedCall::CountedCall(ConnectionTable& connections, const std::string& peer)
    : connections_(connections), peer_(PeerOf(peer)) {
  if (const std::optional<Socket> cut = connections_.BeginCall(peer_)) FrontDoor::Cut(*cut);
}

CountedCall::~CountedCall() { connections_.EndCall(peer_); }

grpc::experimental::Interceptor* CallCensus::CreateServerInterceptor(
    grpc::experimental::ServerRpcInfo* info) {
  const std::string_view method(info->method());
  if (method.starts_with("/tributary.v1.FusionService/")) return nullptr;
  const std::string peer = info->server_context()->peer();
  if (method.starts_with("/tributary.v1.FleetService/") || method.starts_with("/grpc.")) {
    const auto second = std::chrono::floor<std::chrono::seconds>(std::chrono::steady_clock::now());
    const auto cut = connections_.NoteRareCall(PeerOf(peer), second.time_since_epoch().count());
    if (cut) FrontDoor::Cut(*cut);
  }
  return new Counted(connections_, peer);
}

}  // namespace tributary::server
