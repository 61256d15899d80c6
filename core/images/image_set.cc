#include "core/images/image_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <numbers>
#include <span>
#include <system_error>

#include "core/images/idx_file.h"
#include "core/images/image_folder.h"
#include "core/nn/kernel/random_stream.h"

namespace tributary::images {
namespace {

constexpr std::size_t kSide = 28;
constexpr std::size_t kGlyphs = 10;
constexpr std::size_t kMaxStrokes = 4;

struct Point {
  double x, y;  // −1 … 1, y downwards
};
struct Stroke {
  Point from, to;
};
struct Glyph {
  std::size_t strokes;
  std::array<Stroke, kMaxStrokes> stroke;
};

// No glyph equals another one turned by less than 40°.
constexpr std::array<Glyph, kGlyphs> kShapes = {{
    {1, {{{{0, -1}, {0, 1}}}}},                                                         // bar
    {2, {{{{0, -1}, {0, 1}}, {{-1, 0}, {1, 0}}}}},                                      // cross
    {2, {{{{-0.8, -1}, {0.8, -1}}, {{0, -1}, {0, 1}}}}},                                // T
    {2, {{{{-0.6, -1}, {-0.6, 1}}, {{-0.6, 1}, {0.8, 1}}}}},                            // L
    {3, {{{{0, -1}, {0.9, 0.8}}, {{0.9, 0.8}, {-0.9, 0.8}}, {{-0.9, 0.8}, {0, -1}}}}},  // triangle
    {4,
     {{{{-0.8, -0.8}, {0.8, -0.8}},
       {{0.8, -0.8}, {0.8, 0.8}},
       {{0.8, 0.8}, {-0.8, 0.8}},
       {{-0.8, 0.8}, {-0.8, -0.8}}}}},                                                            // square
    {3, {{{{-0.8, -0.8}, {0.8, -0.8}}, {{0.8, -0.8}, {-0.8, 0.8}}, {{-0.8, 0.8}, {0.8, 0.8}}}}},  // Z
    {3, {{{{-0.7, -1}, {-0.7, 1}}, {{0.7, -1}, {0.7, 1}}, {{-0.7, 0}, {0.7, 0}}}}},               // H
    {2, {{{{-0.8, -1}, {0, 1}}, {{0, 1}, {0.8, -1}}}}},                                           // V
    {3, {{{{-0.8, -0.7}, {0.8, -0.7}}, {{-0.8, 0}, {0.8, 0}}, {{-0.8, 0.7}, {0.8, 0.7}}}}},  // three bars
}};

double Distance(Point p, const Stroke& s) {
  const double dx = s.to.x - s.from.x, dy = s.to.y - s.from.y;
  const double along = ((p.x - s.from.x) * dx + (p.y - s.from.y) * dy) / (dx * dx + dy * dy);
  const double t = std::clamp(along, 0.0, 1.0);
  return std::hypot(p.x - s.from.x - t * dx, p.y - s.from.y - t * dy);
}

void Draw(Glyph glyph, nn::RandomStream random, std::span<std::uint8_t> image) {
  const double angle = random.Uniform(-20, 20) * std::numbers::pi / 180;
  const double scale_x = random.Uniform(6, 10), scale_y = random.Uniform(6, 10);  // pixels
  const double shift_x = random.Uniform(-2, 2), shift_y = random.Uniform(-2, 2);
  const double width = random.Uniform(0.8, 1.8), brightness = random.Uniform(140, 255);
  const auto place = [&](Point p) -> Point {
    const double x = (p.x + random.Uniform(-0.2, 0.2)) * scale_x,
                 y = (p.y + random.Uniform(-0.2, 0.2)) * scale_y;
    return {13.5 + shift_x + std::cos(angle) * x - std::sin(angle) * y,
            13.5 + shift_y + std::sin(angle) * x + std::cos(angle) * y};
  };
  for (std::size_t s = 0; s < glyph.strokes; ++s) {
    glyph.stroke[s] = {place(glyph.stroke[s].from), place(glyph.stroke[s].to)};
  }
  for (std::size_t i = 0; i < image.size(); ++i) {
    const std::size_t row = i / kSide, column = i % kSide;
    const Point at{static_cast<double>(column), static_cast<double>(row)};
    double nearest = 1e9;
    for (std::size_t s = 0; s < glyph.strokes; ++s)
      nearest = std::min(nearest, Distance(at, glyph.stroke[s]));
    const double ink = std::clamp(width + 0.5 - nearest, 0.0, 1.0) * brightness;
    image[i] = static_cast<std::uint8_t>(std::clamp(ink + random.Normal() * 10, 0.0, 255.0));
  }
}

}  // namespace

ImageSet DrawGlyphs(std::size_t count, std::uint64_t seed) {
  ImageSet set;
  set.side = kSide;
  set.pixels.resize(count * set.image_size());
  set.labels.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    set.labels[i] = static_cast<std::uint8_t>(i % kGlyphs);
    Draw(kShapes[i % kGlyphs], nn::RandomStream::Of(seed, i),
         std::span(set.pixels).subspan(i * set.image_size(), set.image_size()));
  }
  return set;
}

absl::StatusOr<ImageSet> ReadImageFiles(const ImageFiles& files) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(files.images, ignored)) return ReadIdxImages(files.images, files.labels);
  if (files.labels.empty()) return ReadImageFolder(files.images, files.fitted);
  return absl::InvalidArgumentError(
      fmt::format("{}: labels beside a folder of pictures, whose folders are its classes", files.labels));
}

absl::StatusOr<ImageSet> ReadImages(const ImageFiles& files, ImageUse use) {
  if (files.images != "glyphs") return ReadImageFiles(files);
  // Far from the small seeds of nodes: no node has seen the test's glyphs.
  return use == ImageUse::kTraining ? DrawGlyphs(7'000, 1) : DrawGlyphs(2'000, 1'002);
}

}  // namespace tributary::images
