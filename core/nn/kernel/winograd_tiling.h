// How Winograd3x3 cuts Planes into tiles of 2×2 output pixels, and where their transformed points lie.
#pragma once

#include <algorithm>
#include <cstddef>

#include "core/nn/kernel/planes.h"

namespace tributary::nn {

// The points of a tile: 4 rows of 4.
inline constexpr std::size_t kWinogradRow = 4;
inline constexpr std::size_t kWinogradPoints = kWinogradRow * kWinogradRow;

inline constexpr std::size_t kWinogradPanelRows = 8;  // output channels of a packed panel of kernels
// A block of tiles with 64 channels takes 0.8 MB transformed; the operands of its 16 products stay in a
// first-level cache.
inline constexpr std::size_t kWinogradBlockSize = 192;
// Longer blocks for dot products, because each ends with a sum over lanes. A row of points at a time, 64
// channels against 32 take 1.2 MB.
inline constexpr std::size_t kWinogradGradientBlockSize = 800;

constexpr std::size_t InPanels(std::size_t channels) {
  return (channels + kWinogradPanelRows - 1) / kWinogradPanelRows * kWinogradPanelRows;
}

// Consecutive tiles of one range of images.
struct WinogradBlock {
  std::size_t first_tile;
  std::size_t tiles;
  std::size_t first_image;
  std::size_t images;  // a multiple of a vector

  std::size_t size() const { return tiles * images; }
};

// Cuts the planes into blocks of about `block_size` tiles times images. A transformed block is [points ×
// channels × size()] with PointStride and stride() floats between.
class WinogradTiling {
 public:
  WinogradTiling(PlaneShape shape, std::size_t block_size)
      : shape_(shape),
        per_row_((shape.side + 1) / 2),
        images_(std::min(shape.lanes(), block_size)),
        tiles_(std::min(std::max<std::size_t>(block_size / images_, 1), per_row_ * per_row_)) {}

  std::size_t stride() const { return RoundUp(tiles_ * images_, kGranularity) + kLine; }
  std::size_t PointStride(std::size_t channels) const { return Apart(channels * stride()); }

  // Calls visit(block) for each block.
  template <class Visit>
  void ForEachBlock(Visit visit) const {
    for (std::size_t n = 0; n < shape_.lanes(); n += images_) {
      for (std::size_t tile = 0; tile < per_row_ * per_row_; tile += tiles_) {
        visit(WinogradBlock{tile, std::min(tiles_, per_row_ * per_row_ - tile), n,
                            std::min(images_, shape_.lanes() - n)});
      }
    }
  }

  // The first output pixel of a tile in its channel; whether the image has its second row and column.
  std::size_t Pixel(std::size_t tile) const {
    return 2 * (tile / per_row_ * shape_.pitch() + tile % per_row_ * shape_.lanes());
  }
  bool HasSecondRow(std::size_t tile) const { return 2 * (tile / per_row_) + 1 < shape_.side; }
  bool HasSecondColumn(std::size_t tile) const { return 2 * (tile % per_row_) + 1 < shape_.side; }

  // A multiple of a cache line, but not of 4 KiB: 16 points that far apart do not evict each other from the
  // first-level cache.
  static constexpr std::size_t Apart(std::size_t floats) { return RoundUp(floats, 1024) + kLine; }
  // Every target's tile of products divides this.
  static constexpr std::size_t kGranularity = 48;

 private:
  static constexpr std::size_t kLine = 16;  // floats of a cache line
  static constexpr std::size_t RoundUp(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

  PlaneShape shape_;
  std::size_t per_row_;
  std::size_t images_;
  std::size_t tiles_;
};

}  // namespace tributary::nn
