#include "core/estimate/conflate_batch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/estimate/conflate_batch.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tributary::estimate {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The arithmetic is in double, over fp32 planes.
using D = hn::ScalableTag<double>;
using V = hn::Vec<D>;
using Narrow = hn::Rebind<float, D>;

HWY_INLINE V Load(const float* HWY_RESTRICT from) { return hn::PromoteTo(D(), hn::LoadU(Narrow(), from)); }
HWY_INLINE void Store(V value, float* HWY_RESTRICT to) {
  hn::StoreU(hn::DemoteTo(Narrow(), value), Narrow(), to);
}

// Below this, 1 - (a source's share of the information) may be rounding error at condition 1e12: a source
// that holds all information cannot be told from a consistent one.
constexpr double kSmallestShare = 1e-10;
constexpr double kLargestFloat = 3.402823466e38;

// NaN and values too large for fp32 become the largest fp32.
HWY_INLINE V Bounded(V value) {
  const V largest = hn::Set(D(), kLargestFloat);
  return hn::IfThenElse(hn::Le(value, largest), value, largest);
}

// One source's rows in the header's terms; x and z relative to the origin.
struct Term {
  HWY_INLINE Term() {}  // GCC gives an implicit one no instruction set on ARM: it could not call V's
  V c, u, s;
  V x;
  V z;  // u·x + y: the first part of the factored information measures it with variance 1/c
};

HWY_INLINE Term LoadTerm(const TuplePlanes& source, std::size_t row, V origin_x, V origin_y) {
  const V l11 = Load(source.l11() + row);
  const V l22 = Load(source.l22() + row);
  // One division for both; the product of two fp32 does not overflow in double.
  const V inverse = hn::Div(hn::Set(D(), 1), hn::Mul(l11, l22));
  const V root_c = hn::Mul(inverse, l11);
  const V root_s = hn::Mul(inverse, l22);
  Term term;
  term.c = hn::Mul(root_c, root_c);
  term.s = hn::Mul(root_s, root_s);
  term.u = hn::Neg(hn::Mul(Load(source.l21() + row), root_s));
  term.x = hn::Sub(Load(source.mean_x() + row), origin_x);
  term.z = hn::MulAdd(term.u, term.x, hn::Sub(Load(source.mean_y() + row), origin_y));
  return term;
}

// The conflation: C, U, S of the header, and the mean.
struct Fusion {
  HWY_INLINE Fusion() {}
  V inverse_c, u, inverse_s;
  V x, y;
};

HWY_INLINE Fusion Fuse(const Term* HWY_RESTRICT terms, std::size_t n) {
  const D d;
  V c = hn::Zero(d), cu = hn::Zero(d), cz = hn::Zero(d);
  for (std::size_t i = 0; i < n; ++i) {
    c = hn::Add(c, terms[i].c);
    cu = hn::MulAdd(terms[i].c, terms[i].u, cu);
    cz = hn::MulAdd(terms[i].c, terms[i].z, cz);
  }
  Fusion fusion;
  fusion.inverse_c = hn::Div(hn::Set(d, 1), c);
  fusion.u = hn::Mul(cu, fusion.inverse_c);
  const V z = hn::Mul(cz, fusion.inverse_c);

  V s = hn::Zero(d), sx = hn::Zero(d);
  for (std::size_t i = 0; i < n; ++i) {
    const V lean = hn::Sub(terms[i].u, fusion.u);
    const V weight = hn::Mul(terms[i].c, lean);
    s = hn::Add(s, hn::MulAdd(weight, lean, terms[i].s));
    sx = hn::Add(sx, hn::MulAdd(weight, hn::Sub(terms[i].z, z), hn::Mul(terms[i].s, terms[i].x)));
  }
  fusion.inverse_s = hn::Div(hn::Set(d, 1), s);
  fusion.x = hn::Mul(sx, fusion.inverse_s);
  fusion.y = hn::NegMulAdd(fusion.u, fusion.x, z);
  return fusion;
}

// νᵀ(Σᵢ + Σ_others)⁻¹ν = rᵀ(I - TTᵀ)⁻¹r, with r the innovation against the whole fusion whitened by the
// source's own factor, and T the fused factor whitened likewise: the others need not be fused without it. In
// the header's terms r = (√s·e1, √c·e2), T11² = a, T22² = b, T21² = g, and the determinant of I - TTᵀ is
// (1-a)(1-b) - g.
HWY_INLINE V Innovation(const Term& term, const Fusion& fusion, V e1, V e2) {
  const D d;
  const V one = hn::Set(d, 1.0);
  const V a = hn::Mul(term.s, fusion.inverse_s);
  const V b = hn::Mul(term.c, fusion.inverse_c);
  const V cross = hn::Mul(hn::Mul(term.c, hn::Sub(term.u, fusion.u)), fusion.inverse_s);
  const V g = hn::Mul(cross, hn::Sub(term.u, fusion.u));
  const V p11 = hn::Sub(one, a);
  const V rest = hn::Sub(one, b);
  const V determinant = hn::Max(hn::MulSub(p11, rest, g), hn::Set(d, kSmallestShare));
  const V first = hn::Mul(hn::Mul(hn::Sub(rest, g), term.s), hn::Mul(e1, e1));
  const V mixed = hn::Mul(hn::Mul(term.s, cross), hn::Mul(e1, e2));
  const V second = hn::Mul(hn::Mul(p11, term.c), hn::Mul(e2, e2));
  const V numerator = hn::Add(hn::Add(first, second), hn::Add(mixed, mixed));
  return hn::Div(hn::Max(numerator, hn::Zero(d)), determinant);
}

HWY_INLINE void StoreFusion(const Fusion& fusion, V origin_x, V origin_y, std::size_t row,
                            TuplePlanes& fused) {
  Store(hn::Add(origin_x, fusion.x), fused.mean_x() + row);
  Store(hn::Add(origin_y, fusion.y), fused.mean_y() + row);
  const auto l11 = hn::Sqrt(fusion.inverse_s);
  Store(l11, fused.l11() + row);
  Store(hn::Neg(hn::Mul(fusion.u, l11)), fused.l21() + row);
  Store(hn::Sqrt(fusion.inverse_c), fused.l22() + row);
}

void Conflate(const TuplePlanes* const* HWY_RESTRICT sources, std::size_t n, bool with_innovation,
              ConflatedBatch& result) {
  const D d;
  const std::size_t rows = result.fused.padded_size();
  Term terms[kMaxBatchSources];
  for (std::size_t row = 0; row < rows; row += hn::Lanes(d)) {
    const V origin_x = Load(sources[0]->mean_x() + row);
    const V origin_y = Load(sources[0]->mean_y() + row);
    for (std::size_t i = 0; i < n; ++i) terms[i] = LoadTerm(*sources[i], row, origin_x, origin_y);
    const Fusion fusion = Fuse(terms, n);
    StoreFusion(fusion, origin_x, origin_y, row, result.fused);

    V distance = hn::Zero(d);
    for (std::size_t i = 0; i < n; ++i) {
      const V e1 = hn::Sub(terms[i].x, fusion.x);
      const V e2 = hn::Sub(hn::NegMulAdd(terms[i].u, fusion.x, terms[i].z), fusion.y);
      distance = hn::MulAdd(hn::Mul(terms[i].s, e1), e1, distance);
      distance = hn::MulAdd(hn::Mul(terms[i].c, e2), e2, distance);
      if (with_innovation) {
        Store(Bounded(Innovation(terms[i], fusion, e1, e2)), &result.innovation[i * rows + row]);
      }
    }
    Store(Bounded(distance), &result.squared_distance[row]);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tributary::estimate
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tributary::estimate {

HWY_EXPORT(Conflate);

void ConflateBatch(std::span<const TuplePlanes* const> sources, bool with_innovation,
                   ConflatedBatch& result) {
  if (sources.empty()) return result.fused.Resize(0);
  result.fused.Resize(sources[0]->size());
  const std::size_t rows = result.fused.padded_size();
  result.squared_distance.resize(rows);
  if (with_innovation) result.innovation.resize(sources.size() * rows);
  HWY_DYNAMIC_DISPATCH(Conflate)(sources.data(), sources.size(), with_innovation, result);
}

}  // namespace tributary::estimate
#endif  // HWY_ONCE
