// What a master tells the beacon board over its serial line ([BEACON], section 4.1).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace tributary::serial {

// Inputs, outputs and targets are 1/1024: −1024 … 1023. Weights are 1/256, the board's 16-bit words.
using Word = std::int32_t;
inline constexpr Word kLeastValue = -1024, kMostValue = 1023;
inline constexpr Word kLeastWeight = -32768, kMostWeight = 32767;
inline constexpr double kValueScale = 1024, kWeightScale = 256;
constexpr double ValueOf(Word word) { return word / kValueScale; }

using Inputs = std::array<Word, 3>;
using Outputs = std::array<Word, 2>;
struct Sample {
  Inputs inputs = {};
  Outputs targets = {};
  friend bool operator==(const Sample&, const Sample&) = default;
};

// Weights of a layer, each neuron's bias last.
inline constexpr std::array<std::size_t, 2> kLayerWeights = {40, 22};
inline constexpr std::size_t kMostInputs = 15;      // of a command
inline constexpr std::size_t kMostSamples = 4'096;  // of a retraining; [BEACON] has no limit

struct SetLayer {
  std::size_t layer = 1;  // 1 or 2
  std::vector<Word> weights;
};
struct Compute {
  std::vector<Inputs> inputs;
};
struct Retrain {
  std::vector<Sample> samples;
};
// Not of [BEACON].
struct AskVersion {};
using Command = std::variant<SetLayer, Compute, Retrain, AskVersion>;

// As a master writes it.
std::string CommandText(const Command& command);

}  // namespace tributary::serial
