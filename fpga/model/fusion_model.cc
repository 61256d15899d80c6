#include "fpga/model/fusion_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace tributary::fpga {
namespace {

// The Machine that computes at once.
class Calculator {
 public:
  using Value = FusionFloat;

  explicit Calculator(bool raw) : raw_(raw) {}
  Value Multiply(Value a, Value b) const { return tributary::fpga::Multiply(a, b); }
  Value Add(Value a, Value b) const { return tributary::fpga::Add(a, b); }
  Value Subtract(Value a, Value b) const { return tributary::fpga::Add(a, Negate(b)); }
  Value Apply(FusionFunction function, Value x) const {
    return function == FusionFunction::kSoftplus && !raw_ ? x : tributary::fpga::Apply(function, x);
  }

 private:
  bool raw_;
};

bool Usable(const FusionTuple& tuple, bool raw) {
  const auto positive = [](float v) { return v >= std::numeric_limits<float>::min(); };
  return std::isfinite(tuple.x) && std::isfinite(tuple.y) && std::isfinite(tuple.l11) &&
         std::isfinite(tuple.l21) && std::isfinite(tuple.l22) &&
         (raw || (positive(tuple.l11) && positive(tuple.l22)));
}

std::uint64_t Pair(float low, float high) {
  return std::uint64_t{std::bit_cast<std::uint32_t>(high)} << 32 | std::bit_cast<std::uint32_t>(low);
}
float Low(std::uint64_t word) { return std::bit_cast<float>(static_cast<std::uint32_t>(word)); }
float High(std::uint64_t word) { return std::bit_cast<float>(static_cast<std::uint32_t>(word >> 32)); }

}  // namespace

FusionTuple Fuse(std::span<const FusionTuple> panels, bool raw) {
  if (!std::all_of(panels.begin(), panels.end(),
                   [&](const FusionTuple& tuple) { return Usable(tuple, raw); })) {
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    return {kNan, kNan, kNan, kNan, kNan};
  }
  constexpr FusionFloat kVoid = FusionFloat::Void();
  std::array<FusionOperands<FusionFloat>, kFusionPanels> operands;
  operands.fill({kVoid, kVoid, kVoid, kVoid, kVoid});
  for (std::size_t i = 0; i < panels.size(); ++i) {
    operands[i] = panels[i].Map(ToFusionFloat);
  }
  Calculator calculator(raw);
  return FusePanels(calculator, operands).Map(ToFloat);
}

void FusionTupleWords(std::span<const FusionTuple> tuples, std::span<std::uint64_t> words) {
  for (std::size_t i = 0; i < tuples.size(); ++i) {
    const FusionTuple& tuple = tuples[i];
    words[i * kFusionTupleWords] = Pair(tuple.x, tuple.y);
    words[i * kFusionTupleWords + 1] = Pair(tuple.l11, tuple.l21);
    words[i * kFusionTupleWords + 2] = Pair(tuple.l22, 0.0f);
  }
}

void FusionTuplesFromWords(std::span<const std::uint64_t> words, std::span<FusionTuple> tuples) {
  for (std::size_t i = 0; i < tuples.size(); ++i) {
    const std::uint64_t* word = &words[i * kFusionTupleWords];
    tuples[i] = {Low(word[0]), High(word[0]), Low(word[1]), High(word[1]), Low(word[2])};
  }
}

}  // namespace tributary::fpga
