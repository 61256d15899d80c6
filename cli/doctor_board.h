// The checks of `tributary doctor` that need XRT.
#pragma once

#include <cstdint>
#include <string>

#include "cli/doctor_report.h"

namespace tributary {

struct DoctorOptions {
  std::string xclbin;  // empty: what needs one is left out, with a warning
  unsigned device = 0;
  std::uint64_t memory_bytes = 4ull << 20;  // contiguous memory that the configuration needs
  std::string data_folder = ".";            // whose disk must have room
};

// XRT and its library, device node, xclbin and its UUID, contiguous memory, time of an empty run.
void CheckBoard(const DoctorOptions& options, DoctorReport& report);

}  // namespace tributary
