// --slot-ms, for commands that count slots as a site does.
#pragma once

#include <CLI/CLI.hpp>

#include "core/estimate/slot_length.h"

namespace tributary::cli {

// `slot` outlives the parsing.
void AddSlotOption(CLI::App& command, estimate::SlotLength& slot);

}  // namespace tributary::cli
