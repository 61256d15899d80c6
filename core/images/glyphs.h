// Ten procedural glyphs with random variation: labelled images without a data set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/images/image_set.h"

namespace tributary::images {

// `count` images of 28 × 28. Image i shows glyph i % 10 on noise; its strokes are displaced, turned by up to
// 20°, scaled, and vary in width and brightness. Equal seeds give equal sets.
ImageSet DrawGlyphs(std::size_t count, std::uint64_t seed);

}  // namespace tributary::images
