#include "aggregator/learning/judge/evaluation_images.h"

#include <fmt/format.h>

#include <utility>

#include "core/images/image_set.h"
#include "core/status/macros.h"

namespace tributary::learning {
namespace {

void Keep(images::ImageSet& set, std::size_t count) {
  if (count == 0 || count >= set.count()) return;
  set.pixels.resize(count * set.image_size());
  set.labels.resize(count);
}

// Moves every other image of `train` to a set of its own.
images::ImageSet TakeEveryOther(images::ImageSet& train) {
  images::ImageSet kept{train.side, train.channels, {}, {}}, taken = kept;
  for (std::size_t i = 0; i < train.count(); ++i) {
    images::ImageSet& target = i % 2 == 0 ? kept : taken;
    const auto image = train.image(i);
    target.pixels.insert(target.pixels.end(), image.begin(), image.end());
    target.labels.push_back(train.labels[i]);
  }
  train = std::move(kept);
  return taken;
}

absl::StatusOr<images::ImageSet> ReadLabelled(const images::ImageFiles& files, images::ImageUse use) {
  ASSIGN_OR_RETURN(images::ImageSet set, images::ReadImages(files, use));
  if (set.count() > 0 && set.labels.size() == set.count()) return set;
  return absl::InvalidArgumentError(
      fmt::format("{}: {} images and {} labels, evaluation needs a label for each", files.images, set.count(),
                  set.labels.size()));
}

}  // namespace

absl::StatusOr<EvaluationImages> ReadEvaluationImages(const EvaluationFiles& files) {
  EvaluationImages images;
  ASSIGN_OR_RETURN(images.train,
                   ReadLabelled({files.images, files.labels, files.fitted}, images::ImageUse::kTraining));
  if (files.test_images.empty() && files.images != "glyphs") {
    images.test = TakeEveryOther(images.train);
  } else {
    const std::string& name = files.test_images.empty() ? files.images : files.test_images;
    ASSIGN_OR_RETURN(images.test,
                     ReadLabelled({name, files.test_labels, files.fitted}, images::ImageUse::kTest));
  }
  Keep(images.train, files.max_images);
  Keep(images.test, files.max_images);
  return images;
}

}  // namespace tributary::learning
