#include "core/wire/field_count.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <cstdint>

namespace tributary::wire {

bool HasMoreFields(google::protobuf::io::ZeroCopyInputStream& message, std::size_t limit) {
  google::protobuf::io::CodedInputStream input(&message);
  std::size_t fields = 0;
  while (const std::uint32_t tag = input.ReadTag()) {
    if (++fields > limit) return true;
    if (!google::protobuf::internal::WireFormatLite::SkipField(&input, tag)) break;
  }
  return false;
}

}  // namespace tributary::wire
