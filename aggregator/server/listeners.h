// The sockets that an address stands for, bound and listening.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/runtime/descriptor.h"

namespace tributary::server {

// "host:port" (every address of the host; 0.0.0.0 and :: are all interfaces in both families; port 0: any)
// or "unix:PATH". Not blocking. Unavailable: nothing could be bound; the message says why.
absl::StatusOr<std::vector<runtime::Descriptor>> BindListeners(const std::string& address);

// The path in "unix:PATH"; empty for other addresses.
std::string UnixPathOf(const std::string& address);

// Where a socket is bound; 0: not to a port.
int PortOf(int fd);

}  // namespace tributary::server
