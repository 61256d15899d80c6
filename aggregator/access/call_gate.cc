#include "aggregator/access/call_gate.h"

#include <grpcpp/support/server_interceptor.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/runtime/mutex.h"
#include "core/wire/peer.h"

namespace tributary::access {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::InterceptorBatchMethods;
using grpc::experimental::ServerRpcInfo;

// The streams that are open, by the interceptor that sees their end. Thread-safe.
class OpenCalls {
 public:
  explicit OpenCalls(AccessControl& control) : control_(control) {}

  struct Call {
    std::string path;
    std::string name;
    grpc::ServerContextBase* context = nullptr;
  };

  void Add(const void* key, Call call) {
    const runtime::MutexLock lock(mutex_);
    calls_[key] = std::move(call);
  }
  void Remove(const void* key) {
    const runtime::MutexLock lock(mutex_);
    calls_.erase(key);
  }

  void CancelWhatIsNotAdmitted() {
    const std::shared_ptr<const AccessPolicy> policy = control_.policy();
    // Held meanwhile, so that no context ends under our hands. gRPC completes the calls on its own threads.
    const runtime::MutexLock lock(mutex_);
    std::erase_if(calls_, [&](const auto& entry) {
      const Call& call = entry.second;
      if (policy->CheckCall(call.path, call.name).ok()) return false;
      control_.CountRevoked();
      call.context->TryCancel();
      return true;
    });
  }

  AccessControl& control() { return control_; }

 private:
  AccessControl& control_;
  runtime::Mutex mutex_;
  std::map<const void*, Call> calls_ GUARDED_BY(mutex_);
};

namespace {

// Judges each call by its path, before any service sees it.
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

// Lives as long as its call.
class OpenCall final : public grpc::experimental::Interceptor {
 public:
  OpenCall(std::shared_ptr<OpenCalls> open, ServerRpcInfo& info) : open_(std::move(open)), info_(info) {}
  ~OpenCall() override { open_->Remove(this); }

  void Intercept(InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_INITIAL_METADATA)) Begin();
    // The context outlives this moment, but perhaps not the interceptor.
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_CLOSE)) open_->Remove(this);
    methods->Proceed();
  }

 private:
  void Begin() {
    grpc::ServerContextBase* const context = info_.server_context();
    const std::string name = wire::PeerCertificateName(*context->auth_context()).value_or("");
    open_->Add(this, {info_.method(), name, context});
    // The policy may have changed between the call's admission and this moment.
    AccessControl& control = open_->control();
    if (control.policy()->CheckCall(info_.method(), name).ok()) return;
    open_->Remove(this);
    control.CountRevoked();
    context->TryCancel();
  }

  const std::shared_ptr<OpenCalls> open_;
  ServerRpcInfo& info_;
};

class OpenCallFactory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit OpenCallFactory(std::shared_ptr<OpenCalls> open) : open_(std::move(open)) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(ServerRpcInfo* info) override {
    const std::string_view path = info->method();
    // A unary call is over in a moment.
    if (info->type() == ServerRpcInfo::Type::UNARY || path == kReportPath || path == kWatchPath) {
      return nullptr;
    }
    return new OpenCall(open_, *info);
  }

 private:
  const std::shared_ptr<OpenCalls> open_;
};

}  // namespace

CallGate::CallGate(AccessControl& control) : control_(control), open_(std::make_shared<OpenCalls>(control)) {}

CallGate::~CallGate() = default;

CallGate::InterceptorFactory CallGate::Guard(grpc::ServerCredentials& credentials) {
  credentials.SetAuthMetadataProcessor(std::make_shared<Admission>(control_));
  return std::make_unique<OpenCallFactory>(open_);
}

void CallGate::Recheck() { open_->CancelWhatIsNotAdmitted(); }

}  // namespace tributary::access
