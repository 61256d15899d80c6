#include "core/wire/json.h"

#include <google/protobuf/util/json_util.h>

#include "absl/strings/ascii.h"

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

std::string DumpJson(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string EnumLabel(const google::protobuf::EnumDescriptor& type, int number) {
  const std::size_t prefix = type.value(0)->name().size() - std::string_view("UNSPECIFIED").size();
  const google::protobuf::EnumValueDescriptor* value = type.FindValueByNumber(number);
  return absl::AsciiStrToLower((value == nullptr ? type.value(0) : value)->name().substr(prefix));
}

}  // namespace tributary::wire
