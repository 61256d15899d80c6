#include "core/privacy/shamir.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <set>

namespace tributary::privacy {
namespace {

// Constant time: no tables or branches that depend on the operands.
std::uint8_t Multiply(std::uint8_t a, std::uint8_t b) {
  unsigned product = 0;
  unsigned power = a;
  for (int bit = 0; bit < 8; ++bit) {
    product ^= power & -(unsigned{b} >> bit & 1u);
    power = (power << 1) ^ (0x11bu & -(power >> 7 & 1u));
  }
  return static_cast<std::uint8_t>(product);
}

// a^254, for a^255 = 1.
std::uint8_t Invert(std::uint8_t a) {
  std::uint8_t result = 1;
  std::uint8_t power = a;
  for (int bit = 1; bit < 8; ++bit) {
    power = Multiply(power, power);
    result = Multiply(result, power);
  }
  return result;
}

std::uint8_t ByteOf(std::byte byte) { return std::to_integer<std::uint8_t>(byte); }

}  // namespace

absl::StatusOr<std::vector<ShamirShare>> SplitSecret(const Key32& secret, std::size_t threshold,
                                                     std::size_t count) {
  if (threshold < 1 || threshold > count || count > 255) {
    return absl::InvalidArgumentError(
        fmt::format("{} of {} shares, at most 255 are possible", threshold, count));
  }
  std::vector<Key32> coefficients(threshold - 1);
  for (Key32& coefficient : coefficients) {
    if (RAND_bytes(reinterpret_cast<unsigned char*>(coefficient.data()), coefficient.size()) != 1) {
      return absl::InternalError("no entropy for the shares of a secret");
    }
  }
  std::vector<ShamirShare> shares(count);
  for (std::size_t i = 0; i < count; ++i) {
    ShamirShare& share = shares[i];
    share.abscissa = static_cast<std::uint8_t>(i + 1);
    for (std::size_t byte = 0; byte < secret.size(); ++byte) {
      std::uint8_t value = 0;
      for (std::size_t k = coefficients.size(); k-- > 0;) {  // Horner
        value = Multiply(value ^ ByteOf(coefficients[k][byte]), share.abscissa);
      }
      share.value[byte] = std::byte{value} ^ secret[byte];
    }
  }
  for (Key32& coefficient : coefficients) OPENSSL_cleanse(coefficient.data(), coefficient.size());
  return shares;
}

absl::StatusOr<Key32> JoinShares(std::span<const ShamirShare> shares) {
  std::set<std::uint8_t> abscissas;
  for (const ShamirShare& share : shares) {
    if (share.abscissa == 0 || !abscissas.insert(share.abscissa).second) {
      return absl::InvalidArgumentError(fmt::format("share {} is impossible or comes twice", share.abscissa));
    }
  }
  if (shares.empty()) return absl::InvalidArgumentError("no shares");
  Key32 secret{};
  for (const ShamirShare& share : shares) {
    // Lagrange's polynomial of this point, at zero; subtraction is exclusive or.
    std::uint8_t weight = 1;
    for (const ShamirShare& other : shares) {
      if (other.abscissa == share.abscissa) continue;
      weight = Multiply(weight, Multiply(other.abscissa, Invert(other.abscissa ^ share.abscissa)));
    }
    for (std::size_t byte = 0; byte < secret.size(); ++byte) {
      secret[byte] ^= std::byte{Multiply(weight, ByteOf(share.value[byte]))};
    }
  }
  return secret;
}

}  // namespace tributary::privacy
