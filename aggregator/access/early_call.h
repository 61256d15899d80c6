// Calls of gRPC's callback API that begin with their headers.
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>

#include <memory>
#include <string_view>
#include <utility>

namespace tributary::access {

// gRPC begins a call of one request when that request is complete. Until then it keeps 12 KiB for the call,
// and nobody but gRPC knows of it: a peer that sends headers alone could open any number. This handler is
// told of the call at its headers, so that it counts like a stream, reads the request itself, and then runs
// the handler that gRPC would have run.
class EarlyHandler final : public grpc::internal::MethodHandler {
 public:
  explicit EarlyHandler(std::unique_ptr<grpc::internal::MethodHandler> served) : served_(std::move(served)) {}

  void RunHandler(const HandlerParameter& call) override;

 private:
  class Request;

  const std::unique_ptr<grpc::internal::MethodHandler> served_;
};

// The place of a method in its .proto file; `service`: its full name. Both exist.
int MethodIndex(std::string_view service, std::string_view method);

// A service of the callback API; `Methods` is the generated class of its name. Its constructor names each
// call of one request with BeginsEarly. To gRPC's core such a method is a stream in both directions: on the
// wire there is no difference.
template <class Methods, class Generated>
class EarlyService : public Generated {
 protected:
  template <class Service, class Request, class Response>
  void BeginsEarly(std::string_view method,
                   grpc::ServerUnaryReactor* (Service::*serve)(grpc::CallbackServerContext*, const Request*,
                                                               Response*)) {
    Serve(method, std::make_unique<grpc::internal::CallbackUnaryHandler<Request, Response>>(
                      [service = static_cast<Service*>(this), serve](
                          grpc::CallbackServerContext* context, const Request* request, Response* response) {
                        return (service->*serve)(context, request, response);
                      }));
  }

  template <class Service, class Request, class Response>
  void BeginsEarly(std::string_view method,
                   grpc::ServerWriteReactor<Response>* (Service::*serve)(grpc::CallbackServerContext*,
                                                                         const Request*)) {
    Serve(method, std::make_unique<grpc::internal::CallbackServerStreamingHandler<Request, Response>>(
                      [service = static_cast<Service*>(this), serve](grpc::CallbackServerContext* context,
                                                                     const Request* request) {
                        return (service->*serve)(context, request);
                      }));
  }

 private:
  void Serve(std::string_view method, std::unique_ptr<grpc::internal::MethodHandler> handler) {
    this->MarkMethodStreamed(MethodIndex(Methods::service_full_name(), method),
                             std::make_unique<EarlyHandler>(std::move(handler)).release());
  }
};

}  // namespace tributary::access
