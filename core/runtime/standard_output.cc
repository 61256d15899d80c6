#include "core/runtime/standard_output.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "core/runtime/service.h"

namespace tributary::runtime {

int FinishOutput(std::string_view program, int exit_code) {
  errno = 0;
  std::cout.flush();
  const bool failed = std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || !std::cout;
  if (!failed || exit_code != kExitOk) return exit_code;
  const std::string reason = errno == 0 ? "" : fmt::format(": {}", std::strerror(errno));
  std::fputs(fmt::format("{}: standard output cannot be written{}\n", program, reason).c_str(), stderr);
  return kExitCantCreate;
}

}  // namespace tributary::runtime
