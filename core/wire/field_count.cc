#include "core/wire/field_count.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <cstdint>
#include <span>

namespace tributary::wire {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// What is still allowed of the fields in submessages with this number, and in those inside of them.
struct Left {
  int number = 0;
  std::size_t fields = 0;
  std::span<Left> inside = {};
};

// Reads fields up to the end, or to one that is malformed; false: `fields` are not enough, or what is left
// for those inside.
bool Count(CodedInputStream& input, std::size_t& fields, std::span<Left> nested) {
  while (const std::uint32_t tag = input.ReadTag()) {
    if (fields == 0) return false;
    --fields;
    if (WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_START_GROUP) return false;
    const int number = WireFormatLite::GetTagFieldNumber(tag);
    const auto counted = std::ranges::find_if(
        nested, [number](const Left& each) { return each.number == number || each.number == kAnyField; });
    if (counted == nested.end() ||
        WireFormatLite::GetTagWireType(tag) != WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      if (!WireFormatLite::SkipField(&input, tag)) break;
      continue;
    }
    int bytes = 0;
    if (!input.ReadVarintSizeAsInt(&bytes)) break;
    const CodedInputStream::Limit end = input.PushLimit(bytes);
    if (!Count(input, counted->fields, counted->inside)) return false;
    if (!input.Skip(input.BytesUntilLimit())) break;
    input.PopLimit(end);
  }
  return true;
}

}  // namespace

bool HasMoreFields(google::protobuf::io::ZeroCopyInputStream& message, std::size_t limit,
                   std::array<NestedFields, 3> nested) {
  std::array<Left, 3> inner = {}, left = {};
  for (std::size_t i = 0; i < nested.size(); ++i) {
    inner[i] = {nested[i].inner_number, nested[i].inner_limit};
    left[i] = {nested[i].number, nested[i].limit, std::span(inner).subspan(i, 1)};
  }
  CodedInputStream input(&message);
  return !Count(input, limit, left);
}

}  // namespace tributary::wire
