// The idx format of MNIST and related sets, plain or gzipped: images of three dimensions (count, row, column)
// are grey, of four (count, row, column, channel) in colour.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/images/image_set.h"

namespace tributary::images {

// The limit for unpacked data: 1 GiB, more than a million images of 28 × 28.
inline constexpr std::size_t kMaxIdxBytes = std::size_t{1} << 30;

// Pure functions over the bytes of a whole file. Errors: DataLoss, with the offset (in the unpacked data, if
// packed) and what was expected there; an empty set counts as damaged. ResourceExhausted for more than
// max_bytes unpacked.
absl::StatusOr<ImageSet> DecodeIdxImages(std::string_view file, std::size_t max_bytes = kMaxIdxBytes);
absl::StatusOr<std::vector<std::uint8_t>> DecodeIdxLabels(std::string_view file,
                                                          std::size_t max_bytes = kMaxIdxBytes);

// Reads image file `images` and, unless empty, label file `labels`. Errors name the file, too;
// InvalidArgument if there are fewer labels than images. More labels are allowed: a set may hold the first
// images only.
absl::StatusOr<ImageSet> ReadIdxImages(const std::string& images, const std::string& labels);

}  // namespace tributary::images
