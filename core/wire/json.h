// The text of messages: JSON for everything that prints one, and labels for metrics and logs.
#pragma once

#include <google/protobuf/generated_enum_reflection.h>
#include <google/protobuf/message.h>

#include <nlohmann/json.hpp>
#include <string>

namespace tributary::wire {

// One line: protobuf's JSON mapping with the fields' own names. 64-bit integers are strings, enums their
// names, bytes base64. Every field is there, except message fields that are not set. Invalid UTF-8 in names
// of peers is left out.
std::string MessageJson(const google::protobuf::Message& message);

// One line of JSON that is no message of the protocol: reports of one command, readiness, errors. Invalid
// UTF-8 in names of peers is replaced.
std::string DumpJson(const nlohmann::ordered_json& value);

// The name of an enumerator as metrics and logs show it: "not_finite" for REFUSAL_REASON_NOT_FINITE. Unknown
// numbers (a newer peer) give "unspecified".
std::string EnumLabel(const google::protobuf::EnumDescriptor& type, int number);
template <class Enum>
std::string EnumLabel(Enum value) {
  return EnumLabel(*google::protobuf::GetEnumDescriptor<Enum>(), value);
}

}  // namespace tributary::wire
