#include "core/parameters/tensor.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <memory>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status/freed_by.h"

namespace tributary::parameters {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are copied as little-endian words");

struct TypeEntry {
  std::string_view name;
  std::size_t size;
};

// In the order of ElementType.
constexpr std::array<TypeEntry, 7> kTypes = {
    {{"F32", 4}, {"F16", 2}, {"I8", 1}, {"I16", 2}, {"I32", 4}, {"I64", 8}, {"F64", 8}}};

const TypeEntry& EntryOf(ElementType type) { return kTypes[static_cast<std::size_t>(type)]; }

std::string ShapeText(std::span<const std::uint64_t> shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

// OpenSSL's SHA-256 fails only for lack of memory.
class Digest {
 public:
  Digest() { EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr); }

  void Add(const void* data, std::size_t size) { EVP_DigestUpdate(context_.get(), data, size); }
  void AddNumber(std::uint64_t number) { Add(&number, sizeof(number)); }
  void AddSchema(std::string_view name, ElementType type, std::span<const std::uint64_t> shape) {
    for (const std::string_view text : {name, ElementTypeName(type)}) {
      AddNumber(text.size());
      Add(text.data(), text.size());
    }
    AddNumber(shape.size());
    for (const std::uint64_t extent : shape) AddNumber(extent);
  }
  Sha256 Finish() {
    Sha256 result;
    EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(result.data()), nullptr);
    return result;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, FreedBy<EVP_MD_CTX_free>> context_{EVP_MD_CTX_new()};
};

}  // namespace

std::size_t ElementSize(ElementType type) { return EntryOf(type).size; }

std::string_view ElementTypeName(ElementType type) { return EntryOf(type).name; }

std::optional<ElementType> ParseElementType(std::string_view name) {
  const auto* const found = std::ranges::find(kTypes, name, &TypeEntry::name);
  if (found == kTypes.end()) return std::nullopt;
  return static_cast<ElementType>(found - kTypes.begin());
}

std::optional<std::uint64_t> ElementCount(std::span<const std::uint64_t> shape) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape) {
    if (extent != 0 && count > kMax / extent) return std::nullopt;
    count *= extent;
  }
  return count;
}

Tensor FloatTensor(std::span<const std::uint64_t> shape, std::span<const float> values) {
  const auto bytes = std::as_bytes(values);
  return {ElementType::kFloat32, {shape.begin(), shape.end()}, {bytes.begin(), bytes.end()}};
}

absl::StatusOr<std::vector<float>> FloatValues(std::string_view name, const Tensor& tensor,
                                               std::span<const std::uint64_t> shape) {
  if (tensor.type != ElementType::kFloat32 ||
      !std::equal(shape.begin(), shape.end(), tensor.shape.begin(), tensor.shape.end())) {
    return absl::InvalidArgumentError(
        absl::StrCat("tensor \"", std::string(name), "\" is ", std::string(ElementTypeName(tensor.type)), " ",
                     ShapeText(tensor.shape), ", expected F32 ", ShapeText(shape)));
  }
  std::vector<float> values(tensor.bytes.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), tensor.bytes.data(), values.size() * sizeof(float));
  return values;
}

absl::StatusOr<const Tensor*> FindTensor(const TensorSet& set, std::string_view name) {
  const auto found = set.tensors.find(name);
  if (found == set.tensors.end()) {
    return absl::NotFoundError(absl::StrCat("no tensor \"", std::string(name), "\""));
  }
  return &found->second;
}

Sha256 ParameterIdentity(const TensorSet& set) {
  Digest digest;
  for (const auto& [name, tensor] : set.tensors) {
    digest.AddSchema(name, tensor.type, tensor.shape);
    digest.AddNumber(tensor.bytes.size());
    digest.Add(tensor.bytes.data(), tensor.bytes.size());
  }
  return digest.Finish();
}

Sha256 SchemaIdentity(const TensorSet& set) {
  Digest digest;
  for (const auto& [name, tensor] : set.tensors) digest.AddSchema(name, tensor.type, tensor.shape);
  return digest.Finish();
}

Sha256 FlatIdentity(std::span<const TensorShape> tensors, std::span<const float> values) {
  Digest digest;
  for (const TensorShape& tensor : tensors) {
    const std::size_t count = tensor.size();
    digest.AddSchema(tensor.name, ElementType::kFloat32, tensor.shape);
    digest.AddNumber(count * sizeof(float));
    digest.Add(values.data(), count * sizeof(float));
    values = values.subspan(count);
  }
  return digest.Finish();
}

Sha256 DigestOf(std::string_view bytes) {
  Digest digest;
  digest.Add(bytes.data(), bytes.size());
  return digest.Finish();
}

std::string HexOf(const Sha256& identity) { return absl::BytesToHexString(BytesOf(identity)); }

std::string BytesOf(const Sha256& identity) {
  return {reinterpret_cast<const char*>(identity.data()), identity.size()};
}

}  // namespace tributary::parameters
