// Two random views of each image, for self-supervised learning; by default from the continuous set of
// augmentations: any angle, any crop, any σ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace tributary::nn {

// One thread at a time.
class Augmenter {
 public:
  virtual ~Augmenter() = default;

  // Writes a view of each image [count × channels × side × side] into `views` of the same size. Equal keys
  // give equal views, so that an interrupted training run resumes exactly; different keys give independent
  // ones.
  virtual void MakeViews(std::span<const std::uint8_t> images, std::uint64_t key,
                         std::span<std::uint8_t> views) = 0;
};

struct ContinuousAugmentationOptions {
  std::size_t side = 28;
  std::size_t channels = 1;      // 1: grey; 3: colour
  double max_rotation_deg = 30;  // [SSL], 4.1, as the next three
  double blur_probability = 0.2;
  double min_crop = 0.5;  // part of the image's area
  double max_crop = 1.0;
  double min_sigma = 0.1;  // pixels
  double max_sigma = 2.0;
};

// Blur, then rotation and crop in one bilinear step; outside of the image it is black. Owns its buffers.
std::unique_ptr<Augmenter> CreateContinuousAugmenter(const ContinuousAugmentationOptions& options);

}  // namespace tributary::nn
