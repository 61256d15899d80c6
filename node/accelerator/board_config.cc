#include "node/accelerator/board_config.h"

#include <chrono>
#include <cstdint>

namespace tributary::accelerator {

std::optional<XrtOptions> ReadBoard(const config::ConfigSection& section, const BoardHelp& help) {
  bool board = false;
  section.Choose("accelerator", board, {"cpu", "xrt"}, help.accelerator);
  XrtOptions xrt;
  if (!board) {
    if (section.Has("xclbin")) {
      section.ReadFile("xclbin", xrt.xclbin, "a file; only with xrt");
      section.Fault("xclbin", "is for accelerator = \"xrt\", which is not given");
    }
    return std::nullopt;
  }
  section.ReadFile("xclbin", xrt.xclbin, config::Required("a file; only with xrt"));
  section.Read("xclbin_uuid", xrt.xclbin_uuid, "refuse an xclbin with another UUID");
  section.Read("device", xrt.device, {0, 15}, "index of the board");
  section.Read("compute_units", xrt.compute_units, {1, 16}, help.compute_units);
  section.Read("frames_per_run", xrt.frames_per_run, {1, 1024}, help.frames_per_run);
  std::int64_t timeout_ms = xrt.run_timeout.count();
  section.Read("run_timeout_ms", timeout_ms, {1, 60000},
               "then the run is aborted and the board opened again");
  xrt.run_timeout = std::chrono::milliseconds(timeout_ms);
  section.Choose("fallback", xrt.fall_back_to_cpu, {"none", "cpu"},
                 "cpu: the processor computes what the board fails to");
  return xrt;
}

}  // namespace tributary::accelerator
