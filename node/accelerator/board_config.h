// The keys about a board that panels, fusion on the board and training share.
#pragma once

#include <optional>

#include "core/config/config.h"
#include "node/accelerator/create.h"

namespace tributary::accelerator {

// What the keys mean in their section.
struct BoardHelp {
  const char* accelerator;
  const char* compute_units;
  const char* frames_per_run;
};

// Nothing with accelerator = "cpu".
std::optional<XrtOptions> ReadBoard(const config::ConfigSection& section, const BoardHelp& help);

}  // namespace tributary::accelerator
