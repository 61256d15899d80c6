#include "core/wire/message_json.h"

#include <google/protobuf/util/json_util.h>

namespace tributary::wire {

std::string MessageJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string json;
  // Fails for google.protobuf.Any and Timestamp only, which no message here has.
  const auto status = google::protobuf::util::MessageToJsonString(message, &json, options);
  return status.ok() ? json : "{}";
}

}  // namespace tributary::wire
