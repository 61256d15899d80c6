#include "core/nn/encoder/strong_augmenter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

#include "core/nn/encoder/training_limits.h"
#include "core/nn/kernel/image_shape.h"
#include "core/nn/kernel/random_stream.h"
#include "core/status/macros.h"

namespace tributary::nn {
namespace {

constexpr int kBlurReach = 3;  // pixels
constexpr double kLeastSigma = 0.1, kLargestSigma = 2.0;

// What is drawn for one view. Every draw is made whatever the options are, so that one option does not change
// what another one draws.
struct ViewDraw {
  ViewDraw(const StrongAugmentationOptions& options, RandomStream& random) {
    const double side = static_cast<double>(options.side), middle = (side - 1) / 2;
    blurs = random.Uniform() < options.blur;
    sigma = random.Uniform(kLeastSigma, kLargestSigma);
    angle = random.Uniform(-1, 1) * options.rotation_deg * std::numbers::pi / 180;
    scale = std::sqrt(1 - random.Uniform() * options.crop);
    const double room = (1 - scale) * side / 2;
    centre_x = middle + random.Uniform(-1, 1) * room;
    centre_y = middle + random.Uniform(-1, 1) * room;
    mirror = random.Uniform() < options.flip ? -1 : 1;
    gain = std::exp(random.Uniform(-1, 1) * std::log1p(options.contrast));
    shift = random.Uniform(-1, 1) * options.brightness * 255;
    hole = static_cast<std::size_t>(random.Uniform() * options.cut_out * side);
    hole_x = random.Below(options.side - hole + 1);
    hole_y = random.Below(options.side - hole + 1);
    saturation = std::exp(random.Uniform(-1, 1) * std::log1p(options.saturation));
    hue = random.Uniform(-1, 1) * options.hue_deg * std::numbers::pi / 180;
    if (random.Uniform() < options.grey) saturation = 0;
  }

  bool blurs;
  double sigma, angle, scale, centre_x, centre_y, mirror, gain, shift;
  std::size_t hole, hole_x, hole_y;
  double saturation, hue;
};

// What a colour's distance from its grey (the mean of its channels) becomes: a turn around the axis of the
// greys, times the saturation. A row of the 3 × 3 matrix is enough: the others are its rotations.
std::array<float, ImageShape::kColour> ColourRow(const ViewDraw& draw) {
  const double cosine = draw.saturation * std::cos(draw.hue);
  const double sine = draw.saturation * std::sin(draw.hue) / std::numbers::sqrt3;
  return {static_cast<float>(cosine), static_cast<float>(-sine), static_cast<float>(sine)};
}

class StrongAugmentation final : public Augmenter {
 public:
  explicit StrongAugmentation(const StrongAugmentationOptions& options)
      : options_(options),
        pitch_(options.side + 1),
        source_(pitch_ * pitch_),
        scratch_(options.side * options.side) {}

  void MakeViews(std::span<const std::uint8_t> images, std::uint64_t key,
                 std::span<std::uint8_t> views) override {
    const ImageShape shape = {options_.side, options_.channels};
    for (std::size_t n = 0; (n + 1) * shape.size() <= images.size(); ++n) {
      RandomStream random = RandomStream::Of(key, n);
      const ViewDraw draw(options_, random);
      const std::span<const std::uint8_t> image = images.subspan(n * shape.size(), shape.size());
      const std::span<std::uint8_t> view = views.subspan(n * shape.size(), shape.size());
      const float mean = static_cast<float>(std::accumulate(image.begin(), image.end(), 0U)) /
                         static_cast<float>(image.size());
      for (std::size_t first = 0; first < shape.size(); first += shape.plane()) {
        for (std::size_t row = 0; row < options_.side; ++row) {
          std::copy_n(image.data() + first + row * options_.side, options_.side,
                      source_.data() + row * pitch_);
        }
        if (draw.blurs) Blur(static_cast<float>(draw.sigma));
        RepeatTheEdge();
        Resample(draw, mean, view.subspan(first, shape.plane()));
      }
      if (shape.channels == ImageShape::kColour) Recolour(draw, shape, view);
      for (std::size_t first = 0; first < shape.size(); first += shape.plane()) {
        CutOut(draw, static_cast<std::uint8_t>(mean), view.subspan(first, shape.plane()));
      }
    }
  }

 private:
  // One more column and row, for the bilinear neighbours of the last ones.
  void RepeatTheEdge() {
    const std::size_t side = options_.side;
    for (std::size_t row = 0; row < side; ++row) {
      source_[row * pitch_ + side] = source_[row * pitch_ + side - 1];
    }
    std::copy_n(source_.data() + (side - 1) * pitch_, pitch_, source_.data() + side * pitch_);
  }

  void Blur(float sigma) {
    std::array<float, 2 * kBlurReach + 1> kernel;
    for (int i = -kBlurReach; i <= kBlurReach; ++i) {
      kernel[static_cast<std::size_t>(i + kBlurReach)] =
          std::exp(-0.5f * static_cast<float>(i * i) / (sigma * sigma));
    }
    const float total = std::accumulate(kernel.begin(), kernel.end(), 0.0f);
    const int last = static_cast<int>(options_.side) - 1;
    const auto along = [&](const float* from, std::size_t step, int at) {
      float sum = 0;
      for (int i = -kBlurReach; i <= kBlurReach; ++i) {
        const auto place = static_cast<std::size_t>(std::clamp(at + i, 0, last));
        sum += kernel[static_cast<std::size_t>(i + kBlurReach)] * from[place * step];
      }
      return sum / total;
    };
    for (int row = 0; row <= last; ++row) {
      const auto y = static_cast<std::size_t>(row);
      for (int x = 0; x <= last; ++x) {
        scratch_[y * options_.side + static_cast<std::size_t>(x)] = along(&source_[y * pitch_], 1, x);
      }
    }
    for (int row = 0; row <= last; ++row) {
      for (std::size_t x = 0; x < options_.side; ++x) {
        source_[static_cast<std::size_t>(row) * pitch_ + x] = along(&scratch_[x], options_.side, row);
      }
    }
  }

  void Resample(const ViewDraw& draw, float mean, std::span<std::uint8_t> view) const {
    const float cosine = static_cast<float>(std::cos(draw.angle) * draw.scale);
    const float sine = static_cast<float>(std::sin(draw.angle) * draw.scale);
    const float mirror = static_cast<float>(draw.mirror), gain = static_cast<float>(draw.gain);
    const float term = mean + static_cast<float>(draw.shift) - gain * mean + 0.5f;  // rounds, too
    const float last = static_cast<float>(options_.side - 1), middle = last / 2;
    std::uint8_t* out = view.data();
    for (std::size_t row = 0; row < options_.side; ++row) {
      const float y = static_cast<float>(row) - middle;
      for (std::size_t column = 0; column < options_.side; ++column, ++out) {
        const float x = mirror * (static_cast<float>(column) - middle);
        const float from_x =
            std::clamp(cosine * x - sine * y + static_cast<float>(draw.centre_x), 0.0f, last);
        const float from_y =
            std::clamp(sine * x + cosine * y + static_cast<float>(draw.centre_y), 0.0f, last);
        const auto left = static_cast<std::size_t>(static_cast<int>(from_x));
        const auto top = static_cast<std::size_t>(static_cast<int>(from_y));
        const float fx = from_x - static_cast<float>(left), fy = from_y - static_cast<float>(top);
        const float* at = source_.data() + top * pitch_ + left;
        const float upper = at[0] + fx * (at[1] - at[0]);
        const float lower = at[pitch_] + fx * (at[pitch_ + 1] - at[pitch_]);
        const float value = gain * (upper + fy * (lower - upper)) + term;
        *out = static_cast<std::uint8_t>(static_cast<int>(std::clamp(value, 0.0f, 255.0f)));
      }
    }
  }

  static void Recolour(const ViewDraw& draw, const ImageShape& shape, std::span<std::uint8_t> view) {
    constexpr std::size_t kColour = ImageShape::kColour;
    const std::array<float, kColour> row = ColourRow(draw);
    for (std::size_t i = 0; i < shape.plane(); ++i) {
      std::array<float, kColour> from;
      for (std::size_t c = 0; c < kColour; ++c) from[c] = static_cast<float>(view[c * shape.plane() + i]);
      const float grey = (from[0] + from[1] + from[2]) / kColour;
      for (std::size_t c = 0; c < kColour; ++c) {
        float value = grey + 0.5f;  // rounds
        for (std::size_t k = 0; k < kColour; ++k) value += row[k] * (from[(c + k) % kColour] - grey);
        view[c * shape.plane() + i] =
            static_cast<std::uint8_t>(static_cast<int>(std::clamp(value, 0.0f, 255.0f)));
      }
    }
  }

  void CutOut(const ViewDraw& draw, std::uint8_t grey, std::span<std::uint8_t> view) const {
    for (std::size_t row = draw.hole_y; row < draw.hole_y + draw.hole; ++row) {
      std::ranges::fill(view.subspan(row * options_.side + draw.hole_x, draw.hole), grey);
    }
  }

  const StrongAugmentationOptions options_;
  const std::size_t pitch_;    // of source_: the side and one repeated column
  std::vector<float> source_;  // [pitch × pitch]
  std::vector<float> scratch_;
};

}  // namespace

absl::Status Validate(const StrongAugmentationOptions& options) {
  RETURN_IF_ERROR(kImageSideLimit.Check("side", options.side));
  RETURN_IF_ERROR(kCropLimit.Check("crop", options.crop));
  RETURN_IF_ERROR(kRotationLimit.Check("rotation_deg", options.rotation_deg));
  RETURN_IF_ERROR(kBrightnessLimit.Check("brightness", options.brightness));
  RETURN_IF_ERROR(kContrastLimit.Check("contrast", options.contrast));
  RETURN_IF_ERROR(kProbabilityLimit.Check("blur", options.blur));
  RETURN_IF_ERROR(kCutOutLimit.Check("cut_out", options.cut_out));
  RETURN_IF_ERROR(kProbabilityLimit.Check("flip", options.flip));
  RETURN_IF_ERROR(kSaturationLimit.Check("saturation", options.saturation));
  RETURN_IF_ERROR(kHueLimit.Check("hue_deg", options.hue_deg));
  return kProbabilityLimit.Check("grey", options.grey);
}

std::unique_ptr<Augmenter> CreateStrongAugmenter(const StrongAugmentationOptions& options) {
  return std::make_unique<StrongAugmentation>(options);
}

}  // namespace tributary::nn
