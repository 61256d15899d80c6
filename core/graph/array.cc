#include "core/graph/array.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tributary::graph {

std::size_t SizeOf(ElementType type) {
  return WithType(type, [](auto value) { return sizeof(value); });
}

std::string_view NameOf(ElementType type) {
  switch (type) {
    case ElementType::kInt8:
      return "int8";
    case ElementType::kUint8:
      return "uint8";
    case ElementType::kInt32:
      return "int32";
    case ElementType::kInt64:
      return "int64";
    case ElementType::kBool:
      return "bool";
    case ElementType::kFloat32:
      break;
  }
  return "float32";
}

absl::StatusOr<std::int64_t> ElementsOf(const Shape& shape) {
  if (shape.size() > kMaxRank) {
    return absl::InvalidArgumentError(
        fmt::format("{} dimensions; at most {} are taken", shape.size(), kMaxRank));
  }
  std::int64_t elements = 1;
  for (const std::int64_t dimension : shape) {
    if (dimension < 0)
      return absl::InvalidArgumentError(fmt::format("the shape {} is negative", TextOf(shape)));
    if (dimension > kMaxElements || elements * dimension > kMaxElements) {
      return absl::InvalidArgumentError(fmt::format("the shape {} is too large", TextOf(shape)));
    }
    elements *= dimension;
  }
  return elements;
}

std::string TextOf(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

std::string Quoted(const std::string& name) {
  std::string text = name.substr(0, 80);
  for (char& c : text) c = static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return "\"" + text + "\"";
}

std::string Spec::Text() const { return fmt::format("{} {}", NameOf(type), TextOf(shape)); }

}  // namespace tributary::graph
