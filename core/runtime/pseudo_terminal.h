// A pseudo-terminal: a serial line without wires, to try and to test what talks over one.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "core/runtime/descriptor.h"

namespace tributary::runtime {

// One end is `master`, a descriptor to read and write; the other the device `path`, for SerialPort.
struct PseudoTerminal {
  Descriptor master{-1};
  std::string path;
};

// In raw mode: bytes pass as they are. Errors: Unavailable.
absl::StatusOr<PseudoTerminal> OpenPseudoTerminal();

}  // namespace tributary::runtime
