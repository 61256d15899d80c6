#include "aggregator/access/call_gate.h"

#include <memory>
#include <string>
#include <string_view>

#include "core/wire/peer.h"

namespace tributary::access {
namespace {

class Admission final : public grpc::AuthMetadataProcessor {
 public:
  explicit Admission(AccessControl& control) : control_(control) {}

  bool IsBlocking() const override { return false; }

  grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext* context, OutputMetadata*,
                       OutputMetadata*) override {
    const auto path = metadata.find(":path");
    const std::string_view called = path == metadata.end()
                                        ? std::string_view()
                                        : std::string_view(path->second.data(), path->second.size());
    const std::string name = wire::PeerCertificateName(*context).value_or("");
    return wire::ToGrpcStatus(control_.Admit(called, name));
  }

 private:
  AccessControl& control_;
};

}  // namespace

void GuardCalls(grpc::ServerCredentials& credentials, AccessControl& control) {
  credentials.SetAuthMetadataProcessor(std::make_shared<Admission>(control));
}

}  // namespace tributary::access
