#include "core/parameters/identity.h"

#include <openssl/evp.h>

#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/strings/escaping.h"

namespace tributary::parameters {
namespace {

// OpenSSL's SHA-256 fails only for lack of memory.
class Digest {
 public:
  Digest() { EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr); }

  void Add(const void* data, std::size_t size) { EVP_DigestUpdate(context_.get(), data, size); }
  void AddNumber(std::uint64_t number) { Add(&number, sizeof(number)); }
  void AddText(std::string_view text) {
    AddNumber(text.size());
    Add(text.data(), text.size());
  }
  void AddSchema(std::string_view name, ElementType type, std::span<const std::uint64_t> shape) {
    AddText(name);
    AddText(ElementTypeName(type));
    AddNumber(shape.size());
    for (const std::uint64_t extent : shape) AddNumber(extent);
  }
  Sha256 Finish() {
    Sha256 result;
    EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(result.data()), nullptr);
    return result;
  }

 private:
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context_{EVP_MD_CTX_new()};
};

}  // namespace

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

std::string HexOf(const Sha256& identity) {
  return absl::BytesToHexString({reinterpret_cast<const char*>(identity.data()), identity.size()});
}

std::string BytesOf(const Sha256& identity) {
  return {reinterpret_cast<const char*>(identity.data()), identity.size()};
}

}  // namespace tributary::parameters
