#include "fpga/model/fusion_model.h"

#include <algorithm>
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
    const FusionTuple& tuple = panels[i];
    operands[i] = {ToFusionFloat(tuple.x), ToFusionFloat(tuple.y), ToFusionFloat(tuple.l11),
                   ToFusionFloat(tuple.l21), ToFusionFloat(tuple.l22)};
  }
  Calculator calculator(raw);
  const FusionOperands<FusionFloat> result = FusePanels(calculator, operands);
  return {ToFloat(result.x), ToFloat(result.y), ToFloat(result.l11), ToFloat(result.l21),
          ToFloat(result.l22)};
}

}  // namespace tributary::fpga
