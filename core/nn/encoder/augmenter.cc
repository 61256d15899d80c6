#include "core/nn/encoder/augmenter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "core/nn/kernel/image_shape.h"
#include "core/nn/kernel/random_stream.h"

namespace tributary::nn {
namespace {

constexpr std::size_t kBorder = 3;  // room for the blur's radius and the bilinear neighbours
constexpr int kRadius = 3;

class ContinuousAugmentation final : public Augmenter {
 public:
  explicit ContinuousAugmentation(const ContinuousAugmentationOptions& options)
      : options_(options),
        pitch_(options.side + 2 * kBorder),
        source_(pitch_ * pitch_, 0.0f),
        scratch_(pitch_ * pitch_, 0.0f) {}

  void MakeViews(std::span<const std::uint8_t> images, std::uint64_t key,
                 std::span<std::uint8_t> views) override {
    const ImageShape shape = {options_.side, options_.channels};
    for (std::size_t n = 0; (n + 1) * shape.size() <= images.size(); ++n) {
      RandomStream random = RandomStream::Of(key, n);
      const double sigma = random.Uniform(options_.min_sigma, options_.max_sigma);
      const bool blurs = random.Uniform() < options_.blur_probability;
      const double angle =
          random.Uniform(-options_.max_rotation_deg, options_.max_rotation_deg) * std::numbers::pi / 180.0;
      const double scale = std::sqrt(random.Uniform(options_.min_crop, options_.max_crop));
      const double room = (1.0 - scale) * static_cast<double>(options_.side) / 2;
      const double middle = static_cast<double>(options_.side - 1) / 2;
      const double centre_x = middle + random.Uniform(-room, room);
      const double centre_y = middle + random.Uniform(-room, room);
      for (std::size_t channel = 0; channel < shape.channels; ++channel) {
        const std::size_t plane = n * shape.size() + channel * shape.plane();
        for (std::size_t y = 0; y < options_.side; ++y) {
          std::copy_n(images.data() + plane + y * options_.side, options_.side,
                      source_.begin() + static_cast<std::ptrdiff_t>((y + kBorder) * pitch_ + kBorder));
        }
        if (blurs) Blur(sigma);
        Resample(angle, scale, centre_x, centre_y, views.data() + plane);
      }
    }
  }

 private:
  void Blur(double sigma) {
    std::array<float, 2 * kRadius + 1> kernel;
    float total = 0;
    for (int i = -kRadius; i <= kRadius; ++i) {
      kernel[static_cast<std::size_t>(i + kRadius)] =
          static_cast<float>(std::exp(-0.5 * i * i / (sigma * sigma)));
      total += kernel[static_cast<std::size_t>(i + kRadius)];
    }
    for (float& weight : kernel) weight /= total;
    const auto pass = [&](const std::vector<float>& from, std::vector<float>& to, std::ptrdiff_t step) {
      for (std::size_t row = kBorder; row < kBorder + options_.side; ++row) {
        float* out = to.data() + row * pitch_ + kBorder;
        const float* in = from.data() + row * pitch_ + kBorder;
        for (std::size_t x = 0; x < options_.side; ++x) {
          float sum = 0;
          for (int i = -kRadius; i <= kRadius; ++i) {
            sum +=
                kernel[static_cast<std::size_t>(i + kRadius)] * in[static_cast<std::ptrdiff_t>(x) + i * step];
          }
          out[x] = sum;
        }
      }
    };
    pass(source_, scratch_, 1);
    pass(scratch_, source_, static_cast<std::ptrdiff_t>(pitch_));
  }

  void Resample(double angle, double scale, double centre_x, double centre_y, std::uint8_t* view) const {
    const float cosine = static_cast<float>(std::cos(angle) * scale);
    const float sine = static_cast<float>(std::sin(angle) * scale);
    const float middle = static_cast<float>(options_.side - 1) / 2;
    const float limit = static_cast<float>(options_.side) + 1;
    for (std::size_t row = 0; row < options_.side; ++row) {
      const float y = static_cast<float>(row) - middle;
      for (std::size_t column = 0; column < options_.side; ++column, ++view) {
        const float x = static_cast<float>(column) - middle;
        // Everything beyond two pixels outside is black, as the border is.
        const float from_x =
            std::clamp(cosine * x - sine * y + static_cast<float>(centre_x), -2.0f, limit) + 3;
        const float from_y =
            std::clamp(sine * x + cosine * y + static_cast<float>(centre_y), -2.0f, limit) + 3;
        const auto left = static_cast<std::size_t>(static_cast<int>(from_x));
        const auto top = static_cast<std::size_t>(static_cast<int>(from_y));
        const float fx = from_x - static_cast<float>(left), fy = from_y - static_cast<float>(top);
        const float* at = source_.data() + top * pitch_ + left;
        const float upper = at[0] + fx * (at[1] - at[0]);
        const float lower = at[pitch_] + fx * (at[pitch_ + 1] - at[pitch_]);
        *view = static_cast<std::uint8_t>(static_cast<int>(upper + fy * (lower - upper) + 0.5f));
      }
    }
  }

  const ContinuousAugmentationOptions options_;
  const std::size_t pitch_;    // of source_, with a border of black pixels
  std::vector<float> source_;  // [pitch × pitch]
  std::vector<float> scratch_;
};

}  // namespace

std::unique_ptr<Augmenter> CreateContinuousAugmenter(const ContinuousAugmentationOptions& options) {
  return std::make_unique<ContinuousAugmentation>(options);
}

}  // namespace tributary::nn
