#include "core/graph/npy_array.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "core/parameters/npy.h"
#include "core/status/macros.h"

namespace tributary::graph {
namespace {

constexpr std::pair<std::string_view, ElementType> kNpyTypes[] = {
    {"<f4", ElementType::kFloat32}, {"|i1", ElementType::kInt8},  {"|u1", ElementType::kUint8},
    {"<i4", ElementType::kInt32},   {"<i8", ElementType::kInt64}, {"|b1", ElementType::kBool}};

}  // namespace

absl::StatusOr<Array> DecodeArray(std::string_view npy) {
  ASSIGN_OR_RETURN(const parameters::NpyFile file, parameters::OpenNpy(npy));
  Spec spec;
  for (const std::uint64_t dimension : file.shape) {
    if (dimension > static_cast<std::uint64_t>(kMaxElements))
      return absl::InvalidArgumentError("npy: too large");
    spec.shape.push_back(static_cast<std::int64_t>(dimension));
  }
  RETURN_IF_ERROR(ElementsOf(spec.shape).status());
  if (file.type == "<f8") {
    ASSIGN_OR_RETURN(const parameters::NpyArray converted, parameters::DecodeNpy(npy));
    Array array(std::move(spec));
    std::ranges::copy(converted.values, array.As<float>().begin());
    return array;
  }
  bool known = false;
  for (const auto& [name, type] : kNpyTypes) {
    if (name == file.type) std::tie(known, spec.type) = std::pair(true, type);
  }
  if (!known) return absl::InvalidArgumentError(fmt::format("npy: elements are \"{}\"", file.type));
  if (file.bytes.size() != spec.bytes()) {
    return absl::DataLossError(fmt::format("npy: {} bytes do not fit {}", file.bytes.size(), spec.Text()));
  }
  Array array(std::move(spec));
  std::ranges::copy(std::as_bytes(std::span(file.bytes)), array.bytes.begin());
  return array;
}

std::string EncodeArray(const View& array) {
  const std::vector<std::uint64_t> shape(array.spec->shape.begin(), array.spec->shape.end());
  std::string_view type;
  for (const auto& [name, each] : kNpyTypes) {
    if (each == array.spec->type) type = name;
  }
  return parameters::EncodeNpy(type, shape, {reinterpret_cast<const char*>(array.data), array.spec->bytes()});
}

}  // namespace tributary::graph
