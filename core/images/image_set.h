// Grey or colour images, optionally with labels: nodes learn from them, operators judge by them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/nn/kernel/image_shape.h"

namespace tributary::images {

struct ImageSet {
  std::size_t side = 0;              // pixels; images are square
  std::size_t channels = 1;          // 1: grey; 3: red, green, blue
  std::vector<std::uint8_t> pixels;  // [count × channels × side × side]
  std::vector<std::uint8_t> labels;  // [count], or empty

  nn::ImageShape shape() const { return {side, channels}; }
  std::size_t image_size() const { return shape().size(); }
  std::size_t count() const { return side == 0 ? 0 : pixels.size() / image_size(); }
  std::span<const std::uint8_t> image(std::size_t i) const {
    return std::span(pixels).subspan(i * image_size(), image_size());
  }
};

// Ten procedural glyphs with random variation: labelled images without a data set.
// `count` images of 28 × 28. Image i shows glyph i % 10 on noise; its strokes are displaced, turned by up to
// 20°, scaled, and vary in width and brightness. Equal seeds give equal sets.
ImageSet DrawGlyphs(std::size_t count, std::uint64_t seed);

enum class ImageUse { kTraining, kTest };

// Where a set comes from.
struct ImageFiles {
  std::string images;  // an idx file (or idx.gz), a folder of pictures, or "glyphs": the built-in ones
  std::string labels;  // of an idx file, or empty; the classes of a folder are its folders
  nn::ImageShape fitted = {28, 1};  // that the pictures of a folder become
};

// An idx file or a folder. Errors: as ReadIdxImages and ReadImageFolder; InvalidArgument for labels of a
// folder.
absl::StatusOr<ImageSet> ReadImageFiles(const ImageFiles& files);

// These, or the glyphs: 7,000 for training, 2,000 others for tests.
absl::StatusOr<ImageSet> ReadImages(const ImageFiles& files, ImageUse use);

}  // namespace tributary::images
