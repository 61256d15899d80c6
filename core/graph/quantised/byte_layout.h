// How a quantised tensor lies in the processor's memory while a section runs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/graph/array.h"
#include "core/graph/quantised/byte_kernels.h"
#include "core/graph/quantised/quantised_layer.h"

namespace tributary::graph {

// Images of rows of pixels of channels (byte_kernels.h), with a margin of zero points, so that windows at the
// edge need no case of their own.
class ByteLayout {
 public:
  explicit ByteLayout(const QuantisedTensor& tensor);

  // The margin that this window needs.
  void Surround(const Window& window);

  std::size_t channels() const { return pitch_; }  // in whole blocks
  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  std::size_t images() const { return images_; }
  std::size_t bytes() const { return images_ * Steps().image; }
  // The same without the limits of integers: a wide margin around many images.
  double bytes_as_real() const;
  bool has_margin() const { return above_ + below_ + left_ + right_ > 0; }
  std::uint8_t zero() const { return static_cast<std::uint8_t>(stored_zero_); }
  // What is added to an integer to become a byte: 128 for int8.
  std::int32_t offset() const { return offset_; }

  // From pixel to pixel, and for windows of these strides.
  PixelSteps Steps(std::int64_t down = 1, std::int64_t right = 1) const;
  // Where the byte of an element lies.
  std::size_t At(std::size_t image, std::size_t channel, std::size_t row, std::size_t column) const;
  // The same by the element's place in ONNX's order.
  std::size_t AtElement(std::size_t element) const;
  // From the pixel (0, 0) to the first tap of the window (0, 0), and on from there to each tap.
  std::ptrdiff_t ToFirstTap(const Window& window) const;
  std::vector<std::ptrdiff_t> Taps(const Window& window) const;

  // From and to ONNX's order of elements.
  void Load(std::span<const std::uint8_t> elements, std::uint8_t* to) const;
  void Store(const std::uint8_t* from, std::span<std::uint8_t> elements) const;
  // Fills the margin, and all else.
  void Clear(std::uint8_t* at) const { std::fill_n(at, bytes(), zero()); }

 private:
  std::size_t images_, real_channels_, rows_, columns_, pitch_;
  std::size_t above_ = 0, below_ = 0, left_ = 0, right_ = 0;
  std::int32_t offset_, stored_zero_;
};

}  // namespace tributary::graph
