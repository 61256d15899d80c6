// The checks of `tributary doctor` that need XRT.
#pragma once

#include <cstdint>
#include <string>

#include "cli/doctor/doctor_report.h"
#include "core/estimate/slot_length.h"

namespace tributary::cli {

struct DoctorOptions {
  std::string config;         // of a node; empty: none
  bool needs_board = false;   // else the absence of XRT is no fault
  std::string site;           // that the aggregator must have; empty: any
  estimate::SlotLength slot;  // of the site
  std::string xclbin;         // empty: what needs one is left out, with a warning
  unsigned device = 0;
  std::uint64_t memory_bytes = 4ull << 20;  // contiguous memory that the configuration needs
  std::string data_folder;                  // whose disk must have room; empty: the working directory
};

// XRT and its library, device node, xclbin and its UUID, contiguous memory, time of an empty run.
void CheckBoard(const DoctorOptions& options, DoctorReport& report);

}  // namespace tributary::cli
