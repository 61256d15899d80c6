// Number formats on the command line.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "fpga/model/number_format.h"

namespace tributary::cli {

// For Command::Choice.
inline std::vector<std::pair<std::string, fpga::NumberFormat>> NumberFormatWords() {
  std::vector<std::pair<std::string, fpga::NumberFormat>> words;
  for (const fpga::NumberFormat format : fpga::kNumberFormats) {
    words.emplace_back(fpga::NumberFormatName(format), format);
  }
  return words;
}

}  // namespace tributary::cli
