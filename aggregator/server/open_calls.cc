#include "aggregator/server/open_calls.h"

#include <grpcpp/support/server_interceptor.h>

#include <utility>
#include <vector>

#include "aggregator/access/call_gate.h"

namespace tributary::server {

using grpc::experimental::ServerRpcInfo;

class OpenCalls::Contexts final : public grpc::ContextAllocator {
 public:
  explicit Contexts(OpenCalls& calls) : calls_(calls) {}

  grpc::CallbackServerContext* NewCallbackServerContext() override { return calls_.Make(); }
  void Release(grpc::CallbackServerContext* context) override {
    // It gives us the contexts of UnknownCalls too, which are its own.
    if (auto* call = dynamic_cast<Call*>(context)) calls_.Release(*call);
  }

 private:
  OpenCalls& calls_;
};

// gRPC asks for an interceptor when it knows the peer of a call, and gets none.
class OpenCalls::Beginnings final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit Beginnings(OpenCalls& calls) : calls_(calls) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(ServerRpcInfo* info) override {
    if (auto* call = dynamic_cast<Call*>(info->server_context())) calls_.Begin(*call, *info);
    return nullptr;
  }

 private:
  OpenCalls& calls_;
};

OpenCalls::OpenCalls(ConnectionTable& connections, access::AccessControl* access)
    : connections_(connections), access_(access) {}

OpenCalls::~OpenCalls() = default;

void OpenCalls::Follow(grpc::ServerBuilder& builder) {
  builder.SetContextAllocator(std::make_unique<Contexts>(*this));
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> factories;
  factories.push_back(std::make_unique<Beginnings>(*this));
  builder.experimental().SetInterceptorCreators(std::move(factories));
}

void OpenCalls::Recheck() {
  if (access_ == nullptr) return;
  // Held meanwhile, so that no context ends under our hands. gRPC completes the calls on its own threads.
  const runtime::MutexLock lock(mutex_);
  for (const auto& call : calls_) Judge(*call);
}

grpc::CallbackServerContext* OpenCalls::Make() {
  auto made = std::make_unique<Call>();
  Call* const call = made.get();
  const runtime::MutexLock lock(mutex_);
  call->place = calls_.insert(calls_.end(), std::move(made));
  return call;
}

void OpenCalls::Begin(Call& call, const ServerRpcInfo& info) {
  if (access_ != nullptr) {
    call.access = access_;
    call.caller = access::PeerOf(*call.auth_context(), access_).value_or(access::Peer());
  }
  call.counted.emplace(connections_, call.peer(), call.caller.name);
  if (access_ == nullptr) return;
  const runtime::MutexLock lock(mutex_);
  call.path = info.method();
  // The policy may have changed since the call was admitted.
  Judge(call);
}

void OpenCalls::Judge(Call& call) {
  if (call.path == nullptr) return;
  const bool may_sum = !call.speaks_for_others || access_->CheckChild(call.caller).ok();
  if (may_sum && access_->CheckCall(call.path, call.caller).ok()) return;
  call.path = nullptr;
  access_->CountRevoked();
  call.revoked = true;
  call.TryCancel();
}

void OpenCalls::Release(Call& call) {
  if (call.counted && call.IsCancelled()) call.counted->CountAsReset(false);
  std::list<std::unique_ptr<Call>> released;  // ends outside of the lock
  const runtime::MutexLock lock(mutex_);
  released.splice(released.end(), calls_, call.place);
}

}  // namespace tributary::server
