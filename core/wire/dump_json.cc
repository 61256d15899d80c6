#include "core/wire/dump_json.h"

namespace tributary::wire {

std::string DumpJson(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace tributary::wire
