// Parameters of a request's query that are no text. Errors: InvalidArgument, naming the parameter and what is
// allowed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/http/http_server.h"

namespace tributary::http {

// `absent`: the value without the parameter.
absl::StatusOr<std::uint64_t> IntegerParameter(const HttpRequest& request, const std::string& key,
                                               std::uint64_t absent, std::uint64_t least, std::uint64_t most);
absl::StatusOr<double> NumberParameter(const HttpRequest& request, const std::string& key, double absent,
                                       double least, double most);
// "true" or "false"; absent: false.
absl::StatusOr<bool> FlagParameter(const HttpRequest& request, const std::string& key);
// "3,5,8"; absent: none.
absl::StatusOr<std::vector<std::uint32_t>> NumbersParameter(const HttpRequest& request,
                                                            const std::string& key);

}  // namespace tributary::http
