// Checks and normalises the bursts of any source of I/Q samples.
#pragma once

#include <memory>
#include <string>

#include "core/runtime/clock.h"
#include "node/source/source.h"

namespace tributary::source {

// Takes frames of `source` whose subjects have kBurstFeatures features: scales each burst to power one, and
// leaves out and counts subjects whose burst has a fault (radio::BurstFault). A frame may be without
// subjects then. The log has one line for the first fault and one in ten seconds after. Next returns
// InvalidArgument for a frame of another width. `panel`: its name, for the log.
// `clock` outlives it.
std::unique_ptr<Source> GuardBursts(std::unique_ptr<Source> source, std::string panel,
                                    const runtime::Clock& clock);

}  // namespace tributary::source
