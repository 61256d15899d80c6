// The JSON of a message, for everything that prints one: HTTP, events, commands.
#pragma once

#include <google/protobuf/message.h>

#include <string>

namespace tributary::wire {

// One line: protobuf's JSON mapping with the fields' own names. 64-bit integers are strings, enums their
// names, bytes base64. Every field is there, except message fields that are not set. Invalid UTF-8 in names
// of peers is left out.
std::string MessageJson(const google::protobuf::Message& message);

}  // namespace tributary::wire
