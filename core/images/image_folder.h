// A folder of PNG and JPEG files as a set of images.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "core/images/image_set.h"
#include "core/nn/kernel/image_shape.h"

namespace tributary::images {

// Files in folders of the folder are labelled: each of these is a class, in alphabetical order, at most 256.
// Files in the folder itself have no label; both at once are refused. Names that begin with a dot are left
// out. Each picture is fitted to `shape` (core/images/image_file.h).
// Errors name the file: those of DecodePicture; InvalidArgument for a file that is no picture and for a
// folder that is empty; ResourceExhausted for a set above kMaxIdxBytes.
absl::StatusOr<ImageSet> ReadImageFolder(const std::string& folder, const nn::ImageShape& shape);

}  // namespace tributary::images
