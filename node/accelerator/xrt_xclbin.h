// An xclbin as read from a file, checked before XRT sees it: XRT trusts the offsets in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tributary::accelerator {

struct XclbinSummary {
  std::string uuid;                // as 8-4-4-4-12 lower-case digits
  std::string platform;            // that it was built for
  std::vector<std::string> units;  // compute units, "kernel:instance"
};

// Whether the xclbin has a compute unit of this kernel.
bool HasUnit(const XclbinSummary& xclbin, std::string_view kernel);

// Every section lies within the bytes and every array within its section. Errors: DataLoss for a truncated
// file; InvalidArgument for one that is not an xclbin or has no compute units.
absl::StatusOr<XclbinSummary> ParseXclbin(std::string_view bytes);

// The file's summary. Errors name the file: NotFound and ParseXclbin's with the remedy, InvalidArgument for a
// folder, and the others of runtime::ReadFile.
absl::StatusOr<XclbinSummary> ReadXclbin(const std::string& path);

}  // namespace tributary::accelerator
