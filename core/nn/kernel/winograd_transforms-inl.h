// Tiles of Planes to their 16 points and back (Lavin & Gray, 2016, 4.1), a row of four points at a time. For
// files that Highway compiles once per target.

#if defined(TRIBUTARY_CORE_NN_WINOGRAD_TRANSFORMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TRIBUTARY_CORE_NN_WINOGRAD_TRANSFORMS_INL_H_
#undef TRIBUTARY_CORE_NN_WINOGRAD_TRANSFORMS_INL_H_
#else
#define TRIBUTARY_CORE_NN_WINOGRAD_TRANSFORMS_INL_H_
#endif

#include <cstddef>

#include "core/nn/kernel/planes.h"
#include "core/nn/kernel/product_tile-inl.h"
#include "core/nn/kernel/winograd_tiling.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tributary::nn::HWY_NAMESPACE {
namespace {

// Calls visit(tile, image, place among the transformed ones) for each vector of a block.
template <class Visit>
HWY_INLINE void ForEachVector(const WinogradBlock& block, Visit visit) {
  for (std::size_t t = 0; t < block.tiles; ++t) {
    for (std::size_t n = 0; n < block.images; n += hn::Lanes(D())) {
      visit(block.first_tile + t, block.first_image + n, t * block.images + n);
    }
  }
}

// Row `kRow` of Bᵀ x B of every channel: [4 × channels × stride].
template <std::size_t kRow>
void TransformInput(const Planes& x, const WinogradTiling& tiling, const WinogradBlock& block,
                    float* points) {
  // Which two rows of pixels it combines: x0 − x2, x1 + x2, x2 − x1, x1 − x3.
  constexpr std::size_t kFirst[] = {0, 1, 2, 1}, kSecond[] = {2, 2, 1, 3};
  const D d;
  const PlaneShape& shape = x.shape();
  const std::size_t next = tiling.PointStride(x.channels());
  for (std::size_t c = 0; c < x.channels(); ++c) {
    const float* corner = x.channel(c) - shape.pitch() - shape.lanes();
    float* to = points + c * tiling.stride();
    ForEachVector(block, [&](std::size_t tile, std::size_t image, std::size_t place) {
      const float* first = corner + tiling.Pixel(tile) + image + kFirst[kRow] * shape.pitch();
      const float* second = corner + tiling.Pixel(tile) + image + kSecond[kRow] * shape.pitch();
      V row[4];
      for (std::size_t i = 0; i < 4; ++i) {
        const V a = hn::Load(d, first + i * shape.lanes()), b = hn::Load(d, second + i * shape.lanes());
        row[i] = kRow == 1 ? hn::Add(a, b) : hn::Sub(a, b);
      }
      hn::Store(hn::Sub(row[0], row[2]), d, to + place);
      hn::Store(hn::Add(row[1], row[2]), d, to + place + next);
      hn::Store(hn::Sub(row[2], row[1]), d, to + place + 2 * next);
      hn::Store(hn::Sub(row[1], row[3]), d, to + place + 3 * next);
    });
  }
}

// Row `kRow` of A y Aᵀ of every channel: [4 × channels × stride].
template <std::size_t kRow>
void TransformGradient(const Planes& y, const WinogradTiling& tiling, const WinogradBlock& block,
                       float* points) {
  const D d;
  const PlaneShape& shape = y.shape();
  const std::size_t next = tiling.PointStride(y.channels());
  for (std::size_t c = 0; c < y.channels(); ++c) {
    float* to = points + c * tiling.stride();
    ForEachVector(block, [&](std::size_t tile, std::size_t image, std::size_t place) {
      // Behind an odd side's last row and column lie zeros.
      const float* from = y.channel(c) + tiling.Pixel(tile) + image;
      V row[2];
      for (std::size_t i = 0; i < 2; ++i) {
        const V a = hn::Load(d, from + i * shape.lanes());
        const V b = hn::Load(d, from + i * shape.lanes() + shape.pitch());
        row[i] = kRow == 0 ? a : kRow == 1 ? hn::Add(a, b) : kRow == 2 ? hn::Sub(a, b) : hn::Neg(b);
      }
      hn::Store(row[0], d, to + place);
      hn::Store(hn::Add(row[0], row[1]), d, to + place + next);
      hn::Store(hn::Sub(row[0], row[1]), d, to + place + 2 * next);
      hn::Store(hn::Neg(row[1]), d, to + place + 3 * next);
    });
  }
}

// Aᵀ · points · A of every channel of y, all rows at once; points `next` floats apart.
void TransformOutput(const float* points, std::size_t next, const WinogradTiling& tiling,
                     const WinogradBlock& block, Planes& y) {
  const D d;
  const PlaneShape& shape = y.shape();
  for (std::size_t c = 0; c < y.channels(); ++c) {
    const float* from = points + c * tiling.stride();
    ForEachVector(block, [&](std::size_t tile, std::size_t image, std::size_t place) {
      V upper[4], lower[4];
      for (std::size_t i = 0; i < 4; ++i) {
        const float* at = from + place + i * next;
        const V p0 = hn::Load(d, at), p1 = hn::Load(d, at + 4 * next);
        const V p2 = hn::Load(d, at + 8 * next), p3 = hn::Load(d, at + 12 * next);
        upper[i] = hn::Add(p0, hn::Add(p1, p2));
        lower[i] = hn::Sub(hn::Sub(p1, p2), p3);
      }
      const bool second_column = tiling.HasSecondColumn(tile);
      const auto store = [&](const V* row, float* to) {
        hn::Store(hn::Add(row[0], hn::Add(row[1], row[2])), d, to);
        if (second_column) hn::Store(hn::Sub(hn::Sub(row[1], row[2]), row[3]), d, to + shape.lanes());
      };
      float* to = y.channel(c) + tiling.Pixel(tile) + image;
      store(upper, to);
      if (tiling.HasSecondRow(tile)) store(lower, to + shape.pitch());
    });
  }
}

}  // namespace
}  // namespace tributary::nn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
