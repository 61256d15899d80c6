#include "aggregator/evaluation/evaluation_images.h"

#include <utility>

#include "core/images/glyphs.h"
#include "core/images/idx_file.h"

namespace tributary {
namespace {

constexpr const char* kGlyphs = "glyphs";
constexpr std::size_t kTrainGlyphs = 2'000;
constexpr std::size_t kTestGlyphs = 1'000;

void Keep(ImageSet& set, std::size_t count) {
  if (count == 0 || count >= set.count()) return;
  set.pixels.resize(count * set.image_size());
  set.labels.resize(count);
}

// Moves every other image of `train` to a set of its own.
ImageSet TakeEveryOther(ImageSet& train) {
  ImageSet kept{train.side, {}, {}}, taken{train.side, {}, {}};
  for (std::size_t i = 0; i < train.count(); ++i) {
    ImageSet& target = i % 2 == 0 ? kept : taken;
    const auto image = train.image(i);
    target.pixels.insert(target.pixels.end(), image.begin(), image.end());
    target.labels.push_back(train.labels[i]);
  }
  train = std::move(kept);
  return taken;
}

absl::Status CheckLabels(const ImageSet& set) {
  if (set.count() > 0 && set.labels.size() == set.count()) return absl::OkStatus();
  return absl::InvalidArgumentError("evaluation needs images with labels");
}

}  // namespace

absl::StatusOr<EvaluationImages> ReadEvaluationImages(const EvaluationFiles& files) {
  EvaluationImages images;
  if (files.images == kGlyphs) {
    // Other seeds than those that nodes draw their glyphs from.
    images.train = DrawGlyphs(kTrainGlyphs, 1001);
    images.test = DrawGlyphs(kTestGlyphs, 1002);
  } else {
    absl::StatusOr<ImageSet> train = ReadIdxImages(files.images, files.labels);
    if (!train.ok()) return train.status();
    if (absl::Status status = CheckLabels(*train); !status.ok()) return status;
    images.train = *std::move(train);
    if (files.test_images.empty()) {
      images.test = TakeEveryOther(images.train);
    } else {
      absl::StatusOr<ImageSet> test = ReadIdxImages(files.test_images, files.test_labels);
      if (!test.ok()) return test.status();
      if (absl::Status status = CheckLabels(*test); !status.ok()) return status;
      images.test = *std::move(test);
    }
  }
  Keep(images.train, files.max_images);
  Keep(images.test, files.max_images);
  return images;
}

}  // namespace tributary
