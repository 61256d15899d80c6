// How a panel uses a board: the keys of [[panel]] beside accelerator = "xrt".
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace tributary::accelerator {

struct XrtOptions {
  std::string xclbin;              // file with the positioning kernel
  std::string xclbin_uuid;         // if not empty: the UUID that the file must have
  unsigned device = 0;             // index of the board
  std::size_t compute_units = 1;   // to be used in turn; each belongs to one panel
  std::size_t frames_per_run = 8;  // subjects per start of a kernel: a batch is cut into such runs, which
                                   // overlap
  bool fall_back_to_cpu = false;   // on a failing board
  std::chrono::milliseconds run_timeout{2000};
  std::chrono::milliseconds load_timeout{10000};  // of the run that loads the parameters: 35,000 words
  std::chrono::milliseconds abort_timeout{2000};  // for a driver to end an aborted run
  // The wait after a failure before the board is opened again. It doubles up to a hundred times this until a
  // batch is computed.
  std::chrono::milliseconds reopen_interval{100};
};

}  // namespace tributary::accelerator
