#include "core/wire/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "core/parameters/tensor.h"
#include "core/runtime/printable.h"
#include "core/status/macros.h"

namespace tributary::wire {
namespace {

absl::Status CheckBytes(std::string_view field, std::size_t found, std::size_t expected) {
  if (found == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format("{}: {} bytes, expected {}", field, found, expected));
}

}  // namespace

absl::Status CheckName(std::string_view field, std::string_view name) {
  // Long enough for host names; short enough for labels and file names.
  constexpr std::size_t kMaxBytes = 128;
  if (name.empty() || name.size() > kMaxBytes) {
    return absl::InvalidArgumentError(
        fmt::format("{}: {} bytes, expected 1 to {}", field, name.size(), kMaxBytes));
  }
  if (name.find('\n') != std::string_view::npos || runtime::Printable(name) != name) {
    return absl::InvalidArgumentError(
        fmt::format("{}: control characters and hidden ones are not allowed", field));
  }
  return absl::OkStatus();
}

absl::Status CheckNames(std::string_view field, const Names& listed) {
  std::set<std::string_view> names;
  for (const std::string& each : listed) {
    RETURN_IF_ERROR(CheckName(field, each));
    if (!names.insert(each).second) {
      return absl::InvalidArgumentError(fmt::format("{}: \"{}\" is listed twice", field, each));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckBootId(std::string_view field, std::string_view boot_id) {
  constexpr std::size_t kBootIdBytes = 16;
  return CheckBytes(field, boot_id.size(), kBootIdBytes);
}

absl::StatusOr<std::array<std::byte, 32>> Bytes32FromWire(std::string_view field, const std::string& bytes) {
  std::array<std::byte, 32> result{};
  RETURN_IF_ERROR(CheckBytes(field, bytes.size(), result.size()));
  std::memcpy(result.data(), bytes.data(), result.size());
  return result;
}

absl::StatusOr<privacy::SealedShare> ShareFromWire(const v1::EncryptedShare& wire) {
  ASSIGN_OR_RETURN(const privacy::Key32 seed, Bytes32FromWire("shares.seed_digest", wire.seed_digest()));
  ASSIGN_OR_RETURN(const privacy::Key32 key, Bytes32FromWire("shares.key_digest", wire.key_digest()));
  return privacy::SealedShare{wire.from(), wire.to(), wire.ciphertext(), seed, key};
}

void ShareToWire(const privacy::SealedShare& share, v1::EncryptedShare& wire) {
  wire.set_from(share.from);
  wire.set_to(share.to);
  wire.set_ciphertext(share.ciphertext);
  wire.set_seed_digest(parameters::BytesOf(share.seed_digest));
  wire.set_key_digest(parameters::BytesOf(share.key_digest));
}

}  // namespace tributary::wire
