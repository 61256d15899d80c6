// The conflation of Gaussian tuples in the plane, written once for every executor: the golden model computes
// with it, and the microprogram of fpga/rtl/fusion is scheduled from it.
#pragma once

#include <array>
#include <cstddef>

#include "fpga/model/fusion_arithmetic.h"

namespace tributary::fpga {

// The limit of one pass of the block. Fuse more panels as a tree: results are inputs again.
inline constexpr std::size_t kFusionPanels = 4;

template <class Value>
struct FusionOperands {
  Value x, y, l11, l21, l22;

  // f of each.
  template <class F>
  auto Map(F f) const -> FusionOperands<decltype(f(x))> {
    return {f(x), f(y), f(l11), f(l21), f(l22)};
  }
};

// With w = 1/l22², t = l21/l11, u = y - t·x (a panel's knowledge of y given x) and 1/l11² (its knowledge of
// x), the sum of the quadratic forms is minimal along y = ū + t̄·x, where ū and t̄ are the means weighted by w,
// and
//   1/l11² of the result = Σ 1/l11² + Σ w·(t - t̄)²,  w of the result = Σ w.
// The covariance matrices and their inverses are never formed: their condition is the square of the factors',
// and centring takes the place of the subtraction of large numbers. For the same reason positions are
// relative to an origin that no imprecise panel can pull away: the means of x and of y, each weighted by its
// own precision.
//
// Machine offers Multiply, Add, Subtract and Apply on its Value. An absent panel is void in all five: its
// weights are zero.
template <class Machine, class Value = typename Machine::Value>
FusionOperands<Value> FusePanels(Machine& machine,
                                 const std::array<FusionOperands<Value>, kFusionPanels>& panels) {
  using enum FusionFunction;
  constexpr std::size_t n = kFusionPanels;
  using Values = std::array<Value, n>;
  const auto mul = [&](const Value& a, const Value& b) { return machine.Multiply(a, b); };
  const auto add = [&](const Value& a, const Value& b) { return machine.Add(a, b); };
  const auto sub = [&](const Value& a, const Value& b) { return machine.Subtract(a, b); };
  const auto sum = [&](const Values& v) { return add(add(v[0], v[1]), add(v[2], v[3])); };
  const auto reciprocal = [&](const Value& a) { return machine.Apply(kReciprocal, a); };

  // Information of each panel: of x alone, of y alone, of y given x.
  Values x_precision, y_precision, w, t, x_weighted, y_weighted, wt;
  for (std::size_t i = 0; i < n; ++i) {
    const Value l11 = machine.Apply(kSoftplus, panels[i].l11);
    const Value l22 = machine.Apply(kSoftplus, panels[i].l22);
    const Value m11 = reciprocal(l11);
    const Value m22 = reciprocal(l22);
    x_precision[i] = mul(m11, m11);
    y_precision[i] = reciprocal(add(mul(panels[i].l21, panels[i].l21), mul(l22, l22)));
    w[i] = mul(m22, m22);
    t[i] = mul(panels[i].l21, m11);
    x_weighted[i] = mul(x_precision[i], panels[i].x);
    y_weighted[i] = mul(y_precision[i], panels[i].y);
    wt[i] = mul(w[i], t[i]);
  }
  const Value x_information = sum(x_precision);
  const Value x_origin = mul(sum(x_weighted), reciprocal(x_information));
  const Value y_origin = mul(sum(y_weighted), reciprocal(sum(y_precision)));

  // y given x.
  Values u, wu;
  for (std::size_t i = 0; i < n; ++i) {
    u[i] = sub(sub(panels[i].y, y_origin), mul(t[i], sub(panels[i].x, x_origin)));
    wu[i] = mul(w[i], u[i]);
  }
  const Value l22 = machine.Apply(kReciprocalRoot, sum(w));
  const Value w_inverse = mul(l22, l22);
  const Value t_mean = mul(sum(wt), w_inverse);
  const Value u_mean = mul(sum(wu), w_inverse);

  // x: the origin is the mean of the panels' information on x alone; what remains is the effect of y.
  Values spread, moment;
  for (std::size_t i = 0; i < n; ++i) {
    const Value slope = sub(t[i], t_mean);
    const Value weighted = mul(w[i], slope);
    spread[i] = mul(weighted, slope);
    moment[i] = mul(weighted, sub(u[i], u_mean));
  }
  const Value l11 = machine.Apply(kReciprocalRoot, add(x_information, sum(spread)));
  const Value pull = mul(sum(moment), mul(l11, l11));
  return {sub(x_origin, pull), add(y_origin, sub(u_mean, mul(t_mean, pull))), l11, mul(t_mean, l11), l22};
}

}  // namespace tributary::fpga
