// Images by name: a file, or the built-in glyphs.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "core/images/image_set.h"

namespace tributary::images {

enum class ImageUse { kTraining, kTest };

// `images`: an idx file (or idx.gz); `labels`: its label file, or empty. "glyphs" means the built-in ones:
// 7,000 for training, 2,000 others for tests. Errors: as ReadIdxImages.
absl::StatusOr<ImageSet> ReadImages(const std::string& images, const std::string& labels, ImageUse use);

}  // namespace tributary::images
