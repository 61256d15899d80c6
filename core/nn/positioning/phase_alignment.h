// The phase that all features of one user share says nothing about the position: it is the oscillator's. It
// is taken away. Pure; defined bit for bit, so that every front end agrees.
#pragma once

#include <complex>
#include <cstddef>
#include <span>

#include "core/nn/positioning/positioning_network.h"

namespace tributary::nn {

// Raw features of one user: 512 real parts, antenna-major and subcarrier-minor, then the 512 imaginary parts.
// Any common scale of the source's; the training unit is the amplitude of the line of sight at 5 m.
using FeatureSpan = std::span<float, PositioningNetwork::kInputs>;
using ConstFeatureSpan = std::span<const float, PositioningNetwork::kInputs>;

// The number whose phase is taken from all features. kFirstAntenna: antenna 0, subcarrier 0. kPlaneWave: row
// 4, column 4, subcarrier 4 of the plane wave that fits the features best. Its steps of phase from column to
// column, row to row and subcarrier to subcarrier are those of the neighbours' products, summed; all features
// then count alike, so noise weighs 512 times less and a dead antenna nothing. NaN if a feature is not
// finite.
std::complex<float> PhaseReference(PhaseAlignment alignment, ConstFeatureSpan features);

// Rotates the features so that the reference becomes real and not negative. Zero stays.
void AlignPhase(PhaseAlignment alignment, FeatureSpan features);

}  // namespace tributary::nn
