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
  std::size_t frames_per_run = 8;  // subjects per start of a kernel: a batch is cut so, to overlap its parts
  bool fall_back_to_cpu = false;   // on a failing board
  std::chrono::milliseconds run_timeout{2000};
  std::chrono::milliseconds load_timeout{10000};  // of the run that loads the parameters: 35,000 words
  std::chrono::milliseconds abort_timeout{2000};  // for a driver to end a run that is aborted
  // After a failure the board is left alone for so long (doubling to a hundred times as long until it has
  // computed a batch), then opened again.
  std::chrono::milliseconds reopen_interval{100};
};

}  // namespace tributary::accelerator
