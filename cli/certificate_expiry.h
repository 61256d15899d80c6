// Certificates that expire soon, for commands that look after an installation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/connection.h"

namespace tributary::cli {

// One line for each certificate of the connection, its CA and the aggregator's (as PEM, empty: not known)
// that expires within 30 days or has expired, as "south.pem expires in 12 days, on 2026-12-05".
std::vector<std::string> ExpiryWarnings(const ConnectionArguments& connection,
                                        const std::string& aggregator_pem, std::int64_t now_unix_s);

}  // namespace tributary::cli
