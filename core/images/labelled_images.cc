#include "core/images/labelled_images.h"

#include "core/images/glyphs.h"
#include "core/images/idx_file.h"

namespace tributary::images {

absl::StatusOr<ImageSet> ReadImages(const std::string& images, const std::string& labels, ImageUse use) {
  if (images != "glyphs") return ReadIdxImages(images, labels);
  // Far from the small seeds of nodes: no node has seen the test's glyphs.
  return use == ImageUse::kTraining ? DrawGlyphs(7'000, 1) : DrawGlyphs(2'000, 1'002);
}

}  // namespace tributary::images
