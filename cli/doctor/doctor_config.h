// The check of a node's configuration by `tributary doctor`, and what it tells of the other checks.
#pragma once

#include "cli/connection.h"
#include "cli/doctor/doctor_board.h"
#include "cli/doctor/doctor_report.h"

namespace tributary::cli {

// Reads `options.config` and the files that it names. Sets what the configuration needs: whether a board and
// with which xclbin, the aggregator and its certificates, the site, the folder that must have room. An xclbin
// and a folder of the command line stay.
void CheckConfiguration(DoctorOptions& options, ConnectionArguments& connection, DoctorReport& report);

}  // namespace tributary::cli
