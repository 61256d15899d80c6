#include "core/wire/field_count.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <cstdint>
#include <span>

namespace tributary::wire {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// What is still allowed of the fields in some submessages, and in those inside of them.
struct Left {
  int number = 0;  // theirs, if they are not all submessages of `parent`
  const Descriptor* parent = nullptr;
  std::size_t fields = 0;
  std::span<Left> inside = {};

  bool Counts(int field) const {
    if (parent == nullptr) return field == number;
    const FieldDescriptor* known = parent->FindFieldByNumber(field);
    return known != nullptr && known->type() == FieldDescriptor::TYPE_MESSAGE;
  }
};

// Reads fields up to the end, or to one that is malformed; false: `fields` are not enough, or what is left
// for those inside.
bool Count(CodedInputStream& input, std::size_t& fields, std::span<Left> nested) {
  while (const std::uint32_t tag = input.ReadTag()) {
    if (fields == 0) return false;
    --fields;
    if (WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_START_GROUP) return false;
    const int number = WireFormatLite::GetTagFieldNumber(tag);
    const auto counted =
        WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED
            ? std::ranges::find_if(nested, [number](const Left& each) { return each.Counts(number); })
            : nested.end();
    if (counted == nested.end()) {
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
    inner[i] = {.parent = nested[i].type, .fields = nested[i].inner_limit};
    left[i] = {.number = nested[i].number,
               .fields = nested[i].limit,
               .inside = std::span(inner).subspan(i, nested[i].type != nullptr ? 1 : 0)};
  }
  CodedInputStream input(&message);
  return !Count(input, limit, left);
}

}  // namespace tributary::wire
