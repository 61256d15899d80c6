// Whether the aggregator answers a node or client on this machine.
#pragma once

#include <string>

#include "cli/connection.h"
#include "cli/doctor/doctor_report.h"

namespace tributary::cli {

// False: it does not answer. `site` (empty: any) must be one of its sites.
bool CheckAggregator(const ConnectionArguments& connection, const std::string& site, DoctorReport& report);

}  // namespace tributary::cli
