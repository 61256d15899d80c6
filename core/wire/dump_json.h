// JSON that is no message of the protocol: reports of one command, readiness, errors.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace tributary::wire {

// One line. Invalid UTF-8 in names of peers is replaced.
std::string DumpJson(const nlohmann::ordered_json& value);

}  // namespace tributary::wire
