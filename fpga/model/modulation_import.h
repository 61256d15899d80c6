// From a network of core/nn/modulation to the chain of convolutions that the integer models are made from.
#pragma once

#include "core/nn/modulation/modulation_network.h"
#include "fpga/model/modulation_network.h"

namespace tributary::fpga {

// A maximum over pairs joins the layer before it. A dense layer becomes a kernel over all positions; a mean
// before it joins it. The ranges are those of the network's calibration. Every layer but the last has a ReLU,
// as in all of nn::ModulationArchitectures().
TrainedModulation ImportModulation(const nn::ModulationNetwork& network);

}  // namespace tributary::fpga
