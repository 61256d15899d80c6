// Shamir's secret sharing (1979), byte by byte over GF(2^8) with the polynomial of AES.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/privacy/cipher.h"

namespace tributary::privacy {

struct ShamirShare {
  std::uint8_t abscissa = 0;  // 1 … 255
  Key32 value{};
};

// Shares for abscissas 1 … count. Any `threshold` of them give the secret; fewer reveal nothing. Coefficients
// come from the system's entropy. Errors: InvalidArgument unless 1 ≤ threshold ≤ count ≤ 255; Internal if
// there is no entropy.
absl::StatusOr<std::vector<ShamirShare>> SplitSecret(const Key32& secret, std::size_t threshold,
                                                     std::size_t count);

// The value at zero of the polynomial through these points. With fewer than `threshold` shares, or a wrong
// one, it is not the secret. Errors: InvalidArgument for no share, an abscissa of zero or a repeated one.
absl::StatusOr<Key32> JoinShares(std::span<const ShamirShare> shares);

}  // namespace tributary::privacy
