// Requests that gRPC parses on the threads that fuse.
#pragma once

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <cstddef>

#include "aggregator/server/read_cost.h"
#include "core/wire/field_count.h"

namespace tributary::server {

// Streams read it in a Message's place: it is judged before it is parsed. Two bytes on the wire can become a
// field of a hundred in memory, and parsing a megabyte of them takes 35 ms.
template <class Message, std::size_t kMostBytes = 4 << 10, std::size_t kMostFields = 128>
struct BoundedRequest {
  Message message;
  bool refused = false;  // too large, or with too many fields: it was not parsed
};

}  // namespace tributary::server

namespace grpc {

template <class Message, std::size_t kMostBytes, std::size_t kMostFields>
class SerializationTraits<tributary::server::BoundedRequest<Message, kMostBytes, kMostFields>> {
 public:
  static Status Deserialize(ByteBuffer* bytes,
                            tributary::server::BoundedRequest<Message, kMostBytes, kMostFields>* request) {
    tributary::server::EndRead();  // whoever was read last does not pay for it
    if (!bytes->Valid()) return Status(StatusCode::INTERNAL, "no request");
    request->refused = bytes->Length() > kMostBytes || HasMoreFields(bytes);
    if (!request->refused) return SerializationTraits<Message>::Deserialize(bytes, &request->message);
    bytes->Clear();
    return Status(StatusCode::INVALID_ARGUMENT, "too large");
  }

 private:
  static bool HasMoreFields(ByteBuffer* bytes) {
    ProtoBufferReader reader(bytes);
    return tributary::wire::HasMoreFields(reader, kMostFields);
  }
};

}  // namespace grpc
