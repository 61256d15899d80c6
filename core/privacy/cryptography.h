// The cryptography that masking needs: OpenSSL's, and Shamir's secret sharing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tributary::privacy {

using Key32 = std::array<std::byte, 32>;

// Draws from the system's entropy. Errors: Internal.
absl::StatusOr<Key32> RandomKey();

// X25519 (RFC 7748): a private key is 32 random bytes. Errors: InvalidArgument for a public key that gives
// the all-zero secret (RFC 7748, 6.1).
absl::StatusOr<Key32> X25519PublicKey(const Key32& private_key);
absl::StatusOr<Key32> X25519Agree(const Key32& private_key, const Key32& peer_public_key);

// HKDF-SHA-256 (RFC 5869) without salt, 32 bytes.
absl::StatusOr<Key32> DeriveKey(const Key32& secret, std::string_view info);

// AES-256-GCM: 12 random bytes of nonce, the ciphertext, 16 bytes of tag; also authenticates `context`. Open
// returns DataLoss for another key or context.
absl::StatusOr<std::string> Seal(const Key32& key, std::string_view context, std::string_view plain);
absl::StatusOr<std::string> Open(const Key32& key, std::string_view context, std::string_view sealed);

// words[i] ± keystream word offset + i, modulo 2^32: AES-256-CTR of zeros from counter 0, little-endian
// words.
absl::Status AddKeystream(const Key32& key, std::size_t offset, bool subtract, std::span<std::int32_t> words);

// Shamir's secret sharing (1979), byte by byte over GF(2^8) with the polynomial of AES.
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
