// What the pictures of a folder become: keys that nodes and those who judge their models share.
#pragma once

#include "core/config/config.h"
#include "core/nn/kernel/image_shape.h"

namespace tributary::learning {

// image_side and image_colour; by default as the usual encoder takes them.
nn::ImageShape ReadFittedImages(const config::ConfigSection& section);

}  // namespace tributary::learning
