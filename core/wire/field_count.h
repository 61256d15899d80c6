// How many fields a message has, before it is parsed.
#pragma once

#include <google/protobuf/io/zero_copy_stream.h>

#include <cstddef>

namespace tributary::wire {

// Whether the message has more than `limit` fields at its top level. Two bytes on the wire can become a
// submessage of a hundred in memory, and reused messages keep it. Reading the tags alone bounds that.
bool HasMoreFields(google::protobuf::io::ZeroCopyInputStream& message, std::size_t limit);

}  // namespace tributary::wire
