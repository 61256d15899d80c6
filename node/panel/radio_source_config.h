// The keys of the sources that only a radio panel has.
#pragma once

#include <cstdint>
#include <string>

#include "core/config/config.h"
#include "core/estimate/slot_length.h"
#include "node/source/emitter_source.h"
#include "node/source/replay.h"

namespace tributary::panel {

struct SigmfConfig {
  std::string file;               // .sigmf-meta; the data is beside it
  double sample_rate_hz = 200e3;  // that the metadata must say; 0: any
  source::ReplayOptions replay;
};

// `rate_hz` has been read: it is a key of every source that is paced by the slots.
source::EmitterSourceOptions ReadEmitters(const config::ConfigSection& source, estimate::SlotLength slot,
                                          double rate_hz, std::int64_t max_subjects);
SigmfConfig ReadSigmf(const config::ConfigSection& source, estimate::SlotLength slot, double rate_hz);

}  // namespace tributary::panel
