// Messages in the byte buffers of the completion-queue API.
#pragma once

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <cstddef>
#include <cstdint>

namespace tributary::server {

// Overwrites `message`, reuses its memory. False: the bytes do not parse. Empties `bytes`.
template <typename Message>
bool ParseMessage(grpc::ByteBuffer& bytes, Message& message) {
  grpc::ProtoBufferReader reader(&bytes);
  const bool parsed = reader.status().ok() && message.ParseFromZeroCopyStream(&reader);
  bytes.Clear();
  return parsed;
}

// Whether the message has more than `limit` fields at its top level. Two bytes on the wire can become a
// submessage of a hundred in memory, and reused messages keep it. Reading the tags alone bounds that.
inline bool HasMoreFields(grpc::ByteBuffer& bytes, std::size_t limit) {
  using google::protobuf::internal::WireFormatLite;
  if (bytes.Length() <= 2 * limit) return false;
  grpc::ProtoBufferReader reader(&bytes);
  google::protobuf::io::CodedInputStream input(&reader);
  std::size_t fields = 0;
  while (const std::uint32_t tag = input.ReadTag()) {
    if (++fields > limit) return true;
    if (!WireFormatLite::SkipField(&input, tag)) break;
  }
  return false;
}

template <typename Message>
grpc::ByteBuffer SerializeMessage(const Message& message) {
  grpc::ByteBuffer bytes;
  bool own = false;
  // Fails only for messages beyond 2 GiB.
  (void)grpc::SerializationTraits<Message>::Serialize(message, &bytes, &own);
  return bytes;
}

}  // namespace tributary::server
