// Images by name: a file, or the built-in glyphs.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "core/images/image_set.h"

namespace tributary::images {

enum class ImageUse { kTraining, kTest };

// `images`: an idx file (or idx.gz), with its labels unless that name is empty; or "glyphs": 7,000 for
// training, 2,000 others to test. Errors: as ReadIdxImages.
absl::StatusOr<ImageSet> ReadImages(const std::string& images, const std::string& labels, ImageUse use);

}  // namespace tributary::images
