// What flows through a graph: arrays of a type and a shape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tributary::graph {

enum class ElementType : std::uint8_t { kFloat32, kInt8, kUint8, kInt32, kInt64, kBool };

std::size_t SizeOf(ElementType type);
std::string_view NameOf(ElementType type);  // "float32"

template <class T>
inline constexpr ElementType kElementTypeOf = ElementType::kFloat32;
template <>
inline constexpr ElementType kElementTypeOf<std::int8_t> = ElementType::kInt8;
template <>
inline constexpr ElementType kElementTypeOf<std::uint8_t> = ElementType::kUint8;
template <>
inline constexpr ElementType kElementTypeOf<std::int32_t> = ElementType::kInt32;
template <>
inline constexpr ElementType kElementTypeOf<std::int64_t> = ElementType::kInt64;

// Calls `act` with a value of the type that `type` names; a bool is a byte.
auto WithType(ElementType type, const auto& act) {
  switch (type) {
    case ElementType::kInt8:
      return act(std::int8_t{});
    case ElementType::kUint8:
    case ElementType::kBool:
      return act(std::uint8_t{});
    case ElementType::kInt32:
      return act(std::int32_t{});
    case ElementType::kInt64:
      return act(std::int64_t{});
    case ElementType::kFloat32:
      break;
  }
  return act(float{});
}

using Shape = std::vector<std::int64_t>;

inline constexpr std::size_t kMaxRank = 8;
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 31;

// The product of the dimensions. Errors: InvalidArgument for more than kMaxRank dimensions, a negative one,
// or more than kMaxElements elements.
absl::StatusOr<std::int64_t> ElementsOf(const Shape& shape);

std::string TextOf(const Shape& shape);  // "[1, 3, 28, 28]"
// A stranger's name in a message: its beginning, without control characters.
std::string Quoted(const std::string& name);

// Type and shape; the shape is one that ElementsOf takes.
struct Spec {
  ElementType type = ElementType::kFloat32;
  Shape shape;

  std::int64_t elements() const {
    std::int64_t product = 1;
    for (const std::int64_t dimension : shape) product *= dimension;
    return product;
  }
  std::size_t bytes() const { return static_cast<std::size_t>(elements()) * SizeOf(type); }
  std::int64_t rank() const { return static_cast<std::int64_t>(shape.size()); }
  std::string Text() const;  // "float32 [1, 3]"

  friend bool operator==(const Spec&, const Spec&) = default;
};

// Somebody else's elements, row-major.
struct View {
  const Spec* spec = nullptr;
  std::byte* data = nullptr;

  template <class T>
  std::span<T> As() const {
    return {reinterpret_cast<T*>(data), static_cast<std::size_t>(spec->elements())};
  }
};

// Its own elements.
struct Array {
  Spec spec;
  std::vector<std::byte> bytes;

  explicit Array(Spec given) : spec(std::move(given)), bytes(spec.bytes()) {}
  View view() const { return {&spec, const_cast<std::byte*>(bytes.data())}; }
  template <class T>
  std::span<T> As() {
    return view().As<T>();
  }
  template <class T>
  std::span<const T> As() const {
    return view().As<const T>();
  }
};

}  // namespace tributary::graph
