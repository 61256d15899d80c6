#include "core/runtime/pseudo_terminal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <termios.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace tributary::runtime {

absl::StatusOr<PseudoTerminal> OpenPseudoTerminal() {
  PseudoTerminal terminal{Descriptor(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)), ""};
  std::array<char, 128> name = {};
  termios mode{};
  const int fd = terminal.master.get();
  if (fd < 0 || grantpt(fd) != 0 || unlockpt(fd) != 0 || ptsname_r(fd, name.data(), name.size()) != 0 ||
      tcgetattr(fd, &mode) != 0) {
    return absl::UnavailableError(absl::StrCat("no pseudo-terminal: ", std::strerror(errno)));
  }
  cfmakeraw(&mode);
  if (tcsetattr(fd, TCSANOW, &mode) != 0) {
    return absl::UnavailableError(absl::StrCat("no pseudo-terminal: ", std::strerror(errno)));
  }
  terminal.path = name.data();
  return terminal;
}

}  // namespace tributary::runtime
