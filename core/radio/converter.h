// A receiver's analogue-to-digital converter. Pure; any thread.
#pragma once

#include "core/radio/channel.h"

namespace tributary::radio {

struct ConverterOptions {
  int bits = 0;           // of each component; 0: exact
  double full_scale = 4;  // in units of the burst's root mean square per component, as a gain control sets it
};

// Rounds to the converter's words and clips at its full scale.
void Convert(const ConverterOptions& options, Received& received);

}  // namespace tributary::radio
