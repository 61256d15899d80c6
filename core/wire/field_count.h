// How many fields a message has, before it is parsed.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/zero_copy_stream.h>

#include <array>
#include <cstddef>

namespace tributary::wire {

// The fields inside of the submessages with this number, all together.
struct NestedFields {
  int number = 0;  // 0: none are counted
  std::size_t limit = 0;
  // What they are; then those inside of their own submessages are counted, too. Texts are none, whatever
  // their bytes would be as a message.
  const google::protobuf::Descriptor* type = nullptr;
  std::size_t inner_limit = 0;
};

// Whether the message has more than `limit` fields at its top level, more nested ones than allowed, or a
// group: no message of this project has any, and a group may hold any number of fields. Two bytes on the wire
// can become a submessage or an unknown field of a hundred in memory, and reused messages keep it. Reading
// the tags alone bounds that.
bool HasMoreFields(google::protobuf::io::ZeroCopyInputStream& message, std::size_t limit,
                   std::array<NestedFields, 3> nested = {});

}  // namespace tributary::wire
