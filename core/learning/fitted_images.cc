#include "core/learning/fitted_images.h"

#include "core/learning/client_settings.h"
#include "core/nn/encoder/encoder_options.h"
#include "core/nn/encoder/training_limits.h"

namespace tributary::learning {

nn::ImageShape ReadFittedImages(const config::ConfigSection& section) {
  nn::ImageShape shape = nn::EncoderOptions().image();
  section.Read("image_side", shape.side, IntegersWithin(nn::kImageSideLimit, ClientLimits::kTraining),
               "pixels: the square in the middle of each picture of a folder is scaled to this");
  bool colour = false;
  section.Read("image_colour", colour, "the pictures of a folder keep their colour");
  if (colour) shape.channels = nn::ImageShape::kColour;
  return shape;
}

}  // namespace tributary::learning
