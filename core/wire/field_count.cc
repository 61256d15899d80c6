#include "core/wire/field_count.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <cstdint>

namespace tributary::wire {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// Reads fields up to the end, or to one that is malformed; false: `left` are not enough.
bool CountFields(CodedInputStream& input, std::size_t& left) {
  while (const std::uint32_t tag = input.ReadTag()) {
    if (left-- == 0) return false;
    if (!WireFormatLite::SkipField(&input, tag)) break;
  }
  return true;
}

}  // namespace

bool HasMoreFields(google::protobuf::io::ZeroCopyInputStream& message, std::size_t limit,
                   std::array<NestedFields, 2> nested) {
  CodedInputStream input(&message);
  std::size_t fields = 0;
  while (const std::uint32_t tag = input.ReadTag()) {
    if (++fields > limit) return true;
    const auto counted =
        std::ranges::find(nested, WireFormatLite::GetTagFieldNumber(tag), &NestedFields::number);
    if (counted != nested.end() &&
        WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      int bytes = 0;
      if (!input.ReadVarintSizeAsInt(&bytes)) break;
      const CodedInputStream::Limit end = input.PushLimit(bytes);
      if (!CountFields(input, counted->limit)) return true;
      if (!input.Skip(input.BytesUntilLimit())) break;
      input.PopLimit(end);
      continue;
    }
    if (!WireFormatLite::SkipField(&input, tag)) break;
  }
  return false;
}

}  // namespace tributary::wire
