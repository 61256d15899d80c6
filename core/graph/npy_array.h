// Arrays of a graph as NumPy's .npy files.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/graph/array.h"

namespace tributary::graph {

// "<f4", "|i1", "|u1", "<i4", "<i8" and "|b1"; "<f8" becomes float32. Errors: those of OpenNpy;
// InvalidArgument for another type, DataLoss for bytes that do not fit the shape.
absl::StatusOr<Array> DecodeArray(std::string_view npy);

std::string EncodeArray(const View& array);

}  // namespace tributary::graph
