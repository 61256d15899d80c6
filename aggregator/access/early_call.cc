#include "aggregator/access/early_call.h"

#include <google/protobuf/descriptor.h>
#include <grpc/grpc.h>

#include <string>

#include "aggregator/access/call_context.h"

namespace tributary::access {

// The request that a call waits for: the tag under which gRPC says that it has come. Deletes itself.
class EarlyHandler::Request final : public grpc_completion_queue_functor {
 public:
  Request(grpc::internal::MethodHandler& served, const HandlerParameter& call)
      : grpc_completion_queue_functor{}, served_(served), call_(call) {
    functor_run = [](grpc_completion_queue_functor* self, int) { static_cast<Request*>(self)->Run(); };
  }

  void Read() {
    grpc_op read{};
    read.op = GRPC_OP_RECV_MESSAGE;
    read.data.recv_message.recv_message = &bytes_;
    grpc_completion_queue_functor* const tag = this;
    // Fails only if the call is read already.
    grpc_call_start_batch(call_.call->call(), &read, 1, tag, nullptr);
  }

 private:
  void Run() {
    const std::unique_ptr<Request> own(this);
    const bool came = bytes_ != nullptr;
    auto* const context = static_cast<grpc::CallbackServerContext*>(call_.server_context);
    if (came) CountMessage(*context);
    grpc::Status status;
    void* holder = nullptr;
    void* const request = served_.Deserialize(call_.call->call(), bytes_, &status, &holder);
    // Its peer has reset the call, or has ended it without a request.
    if (!came) status = grpc::Status(grpc::StatusCode::INTERNAL, "the request is missing");
    served_.RunHandler(
        HandlerParameter(call_.call, call_.server_context, request, status, holder, call_.call_requester));
  }

  grpc::internal::MethodHandler& served_;
  const HandlerParameter call_;
  grpc_byte_buffer* bytes_ = nullptr;
};

void EarlyHandler::RunHandler(const HandlerParameter& call) { (new Request(*served_, call))->Read(); }

int MethodIndex(std::string_view service, std::string_view method) {
  const google::protobuf::ServiceDescriptor* const found =
      google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(std::string(service));
  return found->FindMethodByName(std::string(method))->index();
}

}  // namespace tributary::access
