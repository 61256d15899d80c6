// The labelled images by which an operator judges.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "core/images/image_set.h"

namespace tributary::learning {

// Images and labels never leave this process: nodes get parameters alone.
struct EvaluationImages {
  images::ImageSet train;  // for the linear probe and the neighbours
  images::ImageSet test;
};

// As images::ImageFiles. An empty test set: the glyphs' own, or every other image of the training files.
// Errors: those of ReadImages; InvalidArgument for sets without labels.
struct EvaluationFiles {
  std::string images, labels;
  std::string test_images, test_labels;
  std::size_t max_images = 0;       // of each set; 0: all
  nn::ImageShape fitted = {28, 1};  // what the pictures of a folder become

  bool operator==(const EvaluationFiles&) const = default;
};
absl::StatusOr<EvaluationImages> ReadEvaluationImages(const EvaluationFiles& files);

}  // namespace tributary::learning
