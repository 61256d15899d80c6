#include "aggregator/server/reflection_call.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <array>
#include <set>
#include <string>

#include "aggregator/access/call_gate.h"

namespace tributary::server {
namespace {

namespace reflection = grpc::reflection::v1alpha;
using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptor;

// What a server of this program can offer; without [federation] the last three are not served.
constexpr std::array<const char*, 7> kServices = {
    "grpc.health.v1.Health",      "grpc.reflection.v1alpha.ServerReflection", "tributary.v1.FleetService",
    "tributary.v1.FusionService", "tributary.v1.FederationService",           "tributary.v1.ModelService",
    "tributary.v1.RunService"};

// The file and all that it imports, each once.
void AddFile(const FileDescriptor& file, std::set<std::string>& seen,
             reflection::FileDescriptorResponse& files) {
  if (!seen.insert(file.name()).second) return;
  google::protobuf::FileDescriptorProto text;
  file.CopyTo(&text);
  files.add_file_descriptor_proto(text.SerializeAsString());
  for (int i = 0; i < file.dependency_count(); ++i) AddFile(*file.dependency(i), seen, files);
}

void NotFound(reflection::ServerReflectionResponse& response, const char* what) {
  response.mutable_error_response()->set_error_code(grpc::StatusCode::NOT_FOUND);
  response.mutable_error_response()->set_error_message(what);
}

void AnswerFile(const FileDescriptor* file, reflection::ServerReflectionResponse& response) {
  if (file == nullptr) return NotFound(response, "unknown file or symbol");
  std::set<std::string> seen;
  AddFile(*file, seen, *response.mutable_file_descriptor_response());
}

reflection::ServerReflectionResponse AnswerReflection(const reflection::ServerReflectionRequest& request) {
  reflection::ServerReflectionResponse response;
  response.set_valid_host(request.host());
  *response.mutable_original_request() = request;
  const DescriptorPool& pool = *DescriptorPool::generated_pool();
  switch (request.message_request_case()) {
    case reflection::ServerReflectionRequest::kListServices:
      for (const char* name : kServices) {
        response.mutable_list_services_response()->add_service()->set_name(name);
      }
      break;
    case reflection::ServerReflectionRequest::kFileByFilename:
      AnswerFile(pool.FindFileByName(request.file_by_filename()), response);
      break;
    case reflection::ServerReflectionRequest::kFileContainingSymbol:
      AnswerFile(pool.FindFileContainingSymbol(request.file_containing_symbol()), response);
      break;
    default:  // the protocol of this program has no extensions
      NotFound(response, "no extensions here");
  }
  return response;
}

}  // namespace

void ReflectionCall::Listen(RareCalls& calls) {
  auto* call = new ReflectionCall(calls);
  calls.reflection().Ask(&call->context_, &call->stream_, calls.queue(), &call->started_);
}

void ReflectionCall::OnStarted(bool ok) {
  // Otherwise the server is shutting down.
  if (!ok || !calls_.IfOpen([this] { Listen(calls_); })) {
    delete this;
    return;
  }
  identity_ = access::PeerOf(*context_.auth_context(), calls_.access()).value_or(access::Peer());
  counted_.emplace(calls_.connections(), context_.peer(), identity_.name).CountAsReflection();
  calls_.Add(this);
  if (!calls_.IfOpen([this] { stream_.Read(&request_, &read_); })) OnFinished();
}

void ReflectionCall::OnRead(bool ok) {
  if (!ok && request_.refused) {
    counted_->CountAsMalformed();
    return End(grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "the question is too large"));
  }
  if (!ok) return End(grpc::Status::OK);
  counted_->CountMessage();
  const auto answer = [this] {
    request_.message.DiscardUnknownFields();
    stream_.Write(AnswerReflection(request_.message), &written_);
  };
  if (!calls_.Post(answer)) OnFinished();
}

void ReflectionCall::OnWritten(bool ok) {
  if (!ok) return End(grpc::Status::CANCELLED);
  if (!calls_.IfOpen([this] { stream_.Read(&request_, &read_); })) OnFinished();
}

void ReflectionCall::End(const grpc::Status& status) {
  if (!calls_.IfOpen([&] { stream_.Finish(status, &finished_); })) OnFinished();
}

void ReflectionCall::OnFinished() {
  calls_.Remove(this);
  delete this;
}

}  // namespace tributary::server
