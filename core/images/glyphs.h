// Ten procedural glyphs, drawn with chance: labelled images where no recorded ones are at hand.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/images/image_set.h"

namespace tributary::images {

// `count` images of 28 × 28; glyph i % 10, with its strokes displaced, turned by up to 20°, scaled and of
// varying width and brightness, on noise. Equal seeds give equal sets.
ImageSet DrawGlyphs(std::size_t count, std::uint64_t seed);

}  // namespace tributary::images
