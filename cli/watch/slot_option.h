// --slot-ms, for commands that count slots as a site does.
#pragma once

#include "cli/command.h"
#include "core/estimate/slot_length.h"

namespace tributary::cli {

// `slot` outlives the parsing.
void AddSlotOption(Command& command, estimate::SlotLength& slot);

}  // namespace tributary::cli
