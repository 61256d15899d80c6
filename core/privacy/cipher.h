// The OpenSSL operations that masking needs, with errors as absl::Status.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

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

}  // namespace tributary::privacy
