// Raw channel state to the input of the positioning network.
#pragma once

#include <span>

#include "core/nn/positioning/positioning_network.h"

namespace tributary::nn {

// Raw features of one user: 512 real parts, antenna-major and subcarrier-minor, then the 512 imaginary parts.
// Any common scale of the source's; the training unit is the amplitude of the line of sight at 5 m.
using FeatureSpan = std::span<float, PositioningNetwork::kInputs>;

// Rotates all of them by one phase so that antenna 0, subcarrier 0 becomes real and not negative: the phase
// of the user's oscillator says nothing about the position. Idempotent; zeros stay as they are.
void AlignPhase(FeatureSpan features);

// (x - mean) * inverse_deviation, in place.
void Standardise(const PositioningNetwork& network, FeatureSpan features);

}  // namespace tributary::nn
