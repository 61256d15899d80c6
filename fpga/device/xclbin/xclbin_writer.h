// Writes an xclbin for the software device: the metadata that XRT reads, without a bitstream.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tributary::device {

struct XclbinContents {
  struct Kernel {
    std::string name;
    int instances = 1;  // compute units: name_1, name_2, …
  };
  std::vector<Kernel> kernels;
  std::string platform = "tributary:software:device:1.0";  // at most 63 characters
};

// The file's bytes. Equal contents give equal bytes: the UUID is the beginning of their SHA-256. Errors:
// InvalidArgument for no kernel, a name or platform that does not fit, or instances outside 1 … 16.
absl::StatusOr<std::string> WriteXclbin(const XclbinContents& contents);

}  // namespace tributary::device
