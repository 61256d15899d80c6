#include "core/graph/quantised/byte_layout.h"

#include "core/graph/operation.h"

namespace tributary::graph {

ByteLayout::ByteLayout(const QuantisedTensor& tensor)
    : images_(Size(tensor.images())),
      real_channels_(Size(tensor.channels())),
      rows_(Size(tensor.height())),
      columns_(Size(tensor.width())),
      pitch_(InBlocks(real_channels_)),
      offset_(tensor.quantisation.type == ElementType::kInt8 ? 128 : 0),
      stored_zero_(tensor.quantisation.zero_point + offset_) {}

void ByteLayout::Surround(const Window& window) {
  // The last window may end before the padding does, or hang over it.
  const auto beyond = [&](std::size_t d) {
    const std::int64_t end = (window.output[d] - 1) * window.stride[d] - window.before[d] +
                             (window.size[d] - 1) * window.dilation[d] + 1;
    return Size(std::max<std::int64_t>(end - window.input[d], 0));
  };
  above_ = std::max(above_, Size(window.before[0]));
  left_ = std::max(left_, Size(window.before[1]));
  below_ = std::max(below_, beyond(0));
  right_ = std::max(right_, beyond(1));
}

double ByteLayout::bytes_as_real() const {
  return static_cast<double>(images_) * static_cast<double>(above_ + rows_ + below_) *
         static_cast<double>(left_ + columns_ + right_) * static_cast<double>(pitch_);
}

PixelSteps ByteLayout::Steps(std::int64_t down, std::int64_t right) const {
  const std::size_t row = (left_ + columns_ + right_) * pitch_;
  return {.image = (above_ + rows_ + below_) * row, .row = row * Size(down), .column = pitch_ * Size(right)};
}

std::size_t ByteLayout::At(std::size_t image, std::size_t channel, std::size_t row,
                           std::size_t column) const {
  const PixelSteps steps = Steps();
  return image * steps.image + (above_ + row) * steps.row + (left_ + column) * steps.column + channel;
}

std::size_t ByteLayout::AtElement(std::size_t element) const {
  const std::size_t column = element % columns_, row = element / columns_ % rows_;
  const std::size_t channel = element / (columns_ * rows_) % real_channels_;
  return At(element / (columns_ * rows_ * real_channels_), channel, row, column);
}

std::ptrdiff_t ByteLayout::ToFirstTap(const Window& window) const {
  const PixelSteps steps = Steps();
  return -(window.before[0] * static_cast<std::ptrdiff_t>(steps.row) +
           window.before[1] * static_cast<std::ptrdiff_t>(steps.column));
}

std::vector<std::ptrdiff_t> ByteLayout::Taps(const Window& window) const {
  std::vector<std::ptrdiff_t> taps;
  const PixelSteps steps = Steps(window.dilation[0], window.dilation[1]);
  for (std::int64_t down = 0; down < window.size[0]; ++down) {
    for (std::int64_t right = 0; right < window.size[1]; ++right) {
      taps.push_back(down * static_cast<std::ptrdiff_t>(steps.row) +
                     right * static_cast<std::ptrdiff_t>(steps.column));
    }
  }
  return taps;
}

void ByteLayout::Load(std::span<const std::uint8_t> elements, std::uint8_t* to) const {
  Clear(to);
  const auto flip = static_cast<std::uint8_t>(offset_);  // + 128 modulo 256
  const std::uint8_t* from = elements.data();
  for (std::size_t image = 0; image < images_; ++image) {
    for (std::size_t channel = 0; channel < real_channels_; ++channel) {
      for (std::size_t row = 0; row < rows_; ++row, from += columns_) {
        std::uint8_t* const line = to + At(image, channel, row, 0);
        for (std::size_t x = 0; x < columns_; ++x) line[x * pitch_] = from[x] ^ flip;
      }
    }
  }
}

void ByteLayout::Store(const std::uint8_t* from, std::span<std::uint8_t> elements) const {
  const auto flip = static_cast<std::uint8_t>(offset_);
  std::uint8_t* to = elements.data();
  for (std::size_t image = 0; image < images_; ++image) {
    for (std::size_t channel = 0; channel < real_channels_; ++channel) {
      for (std::size_t row = 0; row < rows_; ++row, to += columns_) {
        const std::uint8_t* const line = from + At(image, channel, row, 0);
        for (std::size_t x = 0; x < columns_; ++x) to[x] = line[x * pitch_] ^ flip;
      }
    }
  }
}

}  // namespace tributary::graph
