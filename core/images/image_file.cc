#include "core/images/image_file.h"

#include <fmt/format.h>
#include <png.h>
#include <turbojpeg.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "core/status/macros.h"

namespace tributary::images {
namespace {

constexpr std::size_t kColours = nn::ImageShape::kColour;
constexpr std::string_view kPngMagic = "\x89PNG\r\n\x1a\n";
constexpr std::string_view kJpegMagic = "\xff\xd8\xff";

absl::StatusOr<Picture> Blank(std::size_t width, std::size_t height) {
  if (width == 0 || height == 0) return absl::DataLossError("a picture without pixels");
  if (width > kMaxPictureSide || height > kMaxPictureSide || width * height > kMaxPicturePixels) {
    return absl::ResourceExhaustedError(
        fmt::format("a picture of {} x {} pixels, at most {} on a side and {} in all", width, height,
                    kMaxPictureSide, kMaxPicturePixels));
  }
  return Picture{width, height, std::vector<std::uint8_t>(width * height * kColours)};
}

absl::StatusOr<Picture> DecodePng(std::string_view file) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  const std::unique_ptr<png_image, decltype(&png_image_free)> end(&image, png_image_free);
  const auto fault = [&image] { return absl::DataLossError(fmt::format("damaged PNG: {}", image.message)); };
  if (png_image_begin_read_from_memory(&image, file.data(), file.size()) == 0) return fault();
  ASSIGN_OR_RETURN(Picture picture, Blank(image.width, image.height));
  image.format = PNG_FORMAT_RGB;
  constexpr png_color kBlack{0, 0, 0};
  if (png_image_finish_read(&image, &kBlack, picture.pixels.data(), 0, nullptr) == 0) return fault();
  return picture;
}

absl::StatusOr<Picture> DecodeJpeg(std::string_view file) {
  const std::unique_ptr<void, decltype(&tjDestroy)> decoder(tjInitDecompress(), tjDestroy);
  if (!decoder) return absl::ResourceExhaustedError("no memory to decode a JPEG");
  const auto fault = [&decoder] {
    return absl::DataLossError(fmt::format("damaged JPEG: {}", tjGetErrorStr2(decoder.get())));
  };
  const auto* bytes = reinterpret_cast<const unsigned char*>(file.data());
  int width = 0, height = 0, sampling = 0, colours = 0;
  if (tjDecompressHeader3(decoder.get(), bytes, file.size(), &width, &height, &sampling, &colours) != 0) {
    return fault();
  }
  if (width < 0 || height < 0) return fault();
  ASSIGN_OR_RETURN(Picture picture, Blank(static_cast<std::size_t>(width), static_cast<std::size_t>(height)));
  // A progressive file of a few kB can ask for thousands of passes over the picture.
  constexpr int kFlags = TJFLAG_ACCURATEDCT | TJFLAG_LIMITSCANS | TJFLAG_STOPONWARNING;
  if (tjDecompress2(decoder.get(), bytes, file.size(), picture.pixels.data(), width, 0, height, TJPF_RGB,
                    kFlags) != 0) {
    return fault();
  }
  return picture;
}

// The source pixels that a pixel covers along one axis, and how much of each.
struct Cover {
  std::size_t first;
  std::vector<float> share;  // sums to 1
};

std::vector<Cover> Covers(std::size_t offset, std::size_t length, std::size_t side) {
  std::vector<Cover> covers;
  const double step = static_cast<double>(length) / static_cast<double>(side);
  for (std::size_t i = 0; i < side; ++i) {
    const double from = static_cast<double>(i) * step, to = from + step;
    const auto first = static_cast<std::size_t>(from);
    const auto last = std::min(static_cast<std::size_t>(std::ceil(to)), length);
    Cover& cover = covers.emplace_back(Cover{offset + first, {}});
    for (std::size_t at = first; at < std::max(last, first + 1); ++at) {
      const double low = std::max(from, static_cast<double>(at)),
                   high = std::min(to, static_cast<double>(at + 1));
      cover.share.push_back(static_cast<float>((high - low) / step));
    }
  }
  return covers;
}

}  // namespace

absl::StatusOr<Picture> DecodePicture(std::string_view file) {
  if (file.starts_with(kPngMagic)) return DecodePng(file);
  if (file.starts_with(kJpegMagic)) return DecodeJpeg(file);
  return absl::DataLossError("neither a PNG nor a JPEG");
}

void Fit(const Picture& picture, const nn::ImageShape& shape, std::uint8_t* image) {
  const std::size_t square = std::min(picture.width, picture.height);
  const std::vector<Cover> columns = Covers((picture.width - square) / 2, square, shape.side);
  const std::vector<Cover> rows = Covers((picture.height - square) / 2, square, shape.side);
  for (std::size_t y = 0; y < shape.side; ++y) {
    for (std::size_t x = 0; x < shape.side; ++x) {
      float mean[kColours] = {};
      for (std::size_t i = 0; i < rows[y].share.size(); ++i) {
        const std::size_t row = (rows[y].first + i) * picture.width;
        for (std::size_t j = 0; j < columns[x].share.size(); ++j) {
          const std::uint8_t* pixel = picture.pixels.data() + (row + columns[x].first + j) * kColours;
          const float share = rows[y].share[i] * columns[x].share[j];
          for (std::size_t c = 0; c < kColours; ++c) mean[c] += share * static_cast<float>(pixel[c]);
        }
      }
      if (shape.channels == 1) mean[0] = 0.299f * mean[0] + 0.587f * mean[1] + 0.114f * mean[2];
      for (std::size_t c = 0; c < shape.channels; ++c) {
        image[c * shape.plane() + y * shape.side + x] =
            static_cast<std::uint8_t>(static_cast<int>(std::min(mean[c] + 0.5f, 255.0f)));
      }
    }
  }
}

}  // namespace tributary::images
