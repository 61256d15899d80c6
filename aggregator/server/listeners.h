// The sockets that an address stands for, bound and listening.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/runtime/descriptor.h"

namespace tributary::server {

// "host:port" (every address of the host; 0.0.0.0 and :: are all interfaces in both families; port 0: any)
// or "unix:PATH". Not blocking. Unavailable: nothing could be bound; the message says why.
absl::StatusOr<std::vector<runtime::Descriptor>> BindListeners(const std::string& address);

// The file of a unix socket that is bound; nothing for other addresses.
class SocketFile {
 public:
  SocketFile() = default;
  explicit SocketFile(const std::string& address);
  // Unless another process has taken the path since.
  void Remove();

 private:
  std::string path_;  // empty: none
  dev_t device_ = 0;
  ino_t number_ = 0;
};

// Where a socket is bound; 0: not to a port.
int PortOf(int fd);

}  // namespace tributary::server
