// The conflation of Gaussian tuples in the plane, written once for whatever executes it: the golden model computes with
// it, the microprogram of fpga/rtl/fusion is scheduled from it.
#pragma once

#include <array>
#include <cstddef>

#include "fpga/model/fusion_function.h"

namespace tributary {

// What one pass of the block takes at most; more panels are fused as a tree: results are inputs again.
inline constexpr std::size_t kFusionPanels = 4;

template <class Value>
struct FusionOperands {
  Value x, y, l11, l21, l22;
};

// With w = 1/l22², t = l21/l11, u = y - t·x (a panel's knowledge of y given x) and 1/l11² (its knowledge of x), the sum
// of the quadratic forms is minimal along y = ū + t̄·x, where ū and t̄ are the means weighted by w, and
//   1/l11² of the result = Σ 1/l11² + Σ w·(t - t̄)²,  w of the result = Σ w.
// The covariance matrices and their inverses are never formed: their condition is the square of the factors', and
// centring takes the place of the subtraction of large numbers. Positions are relative to the first panel's.
//
// Machine offers Multiply, Add, Subtract and Apply on its Value. A panel that is not there is void in all five: its w
// and 1/l11² are zero.
template <class Machine, class Value = typename Machine::Value>
FusionOperands<Value> FusePanels(Machine& machine, const std::array<FusionOperands<Value>, kFusionPanels>& panels) {
  using enum FusionFunction;
  constexpr std::size_t n = kFusionPanels;
  const auto mul = [&](const Value& a, const Value& b) { return machine.Multiply(a, b); };
  const auto add = [&](const Value& a, const Value& b) { return machine.Add(a, b); };
  const auto sub = [&](const Value& a, const Value& b) { return machine.Subtract(a, b); };
  const auto sum = [&](const std::array<Value, n>& v) { return add(add(v[0], v[1]), add(v[2], v[3])); };
  const auto sum_but_first = [&](const std::array<Value, n>& v) { return add(add(v[1], v[2]), v[3]); };

  // Knowledge of each panel.
  std::array<Value, n> w, t, wt, x_information, u, wu, x_weighted;
  for (std::size_t i = 0; i < n; ++i) {
    const Value m11 = machine.Apply(kReciprocal, machine.Apply(kSoftplus, panels[i].l11));
    const Value m22 = machine.Apply(kReciprocal, machine.Apply(kSoftplus, panels[i].l22));
    x_information[i] = mul(m11, m11);
    w[i] = mul(m22, m22);
    t[i] = mul(panels[i].l21, m11);
    wt[i] = mul(w[i], t[i]);
    if (i == 0) continue;  // at the origin
    const Value x = sub(panels[i].x, panels[0].x);
    u[i] = sub(sub(panels[i].y, panels[0].y), mul(t[i], x));
    wu[i] = mul(w[i], u[i]);
    x_weighted[i] = mul(x_information[i], x);
  }

  // y given x.
  const Value l22 = machine.Apply(kReciprocalRoot, sum(w));
  const Value w_inverse = mul(l22, l22);
  const Value t_mean = mul(sum(wt), w_inverse);
  const Value u_mean = mul(sum_but_first(wu), w_inverse);

  // x.
  std::array<Value, n> spread, moment;
  for (std::size_t i = 0; i < n; ++i) {
    const Value slope = sub(t[i], t_mean);
    const Value weighted = mul(w[i], slope);
    spread[i] = mul(weighted, slope);
    moment[i] = mul(weighted, i == 0 ? u_mean : sub(u[i], u_mean));
  }
  const Value l11 = machine.Apply(kReciprocalRoot, add(sum(x_information), sum(spread)));
  const Value pull = add(sub(sum_but_first(x_weighted), sum_but_first(moment)), moment[0]);
  const Value x = mul(pull, mul(l11, l11));
  const Value y = add(u_mean, mul(t_mean, x));
  return {add(panels[0].x, x), add(panels[0].y, y), l11, mul(t_mean, l11), l22};
}

}  // namespace tributary
