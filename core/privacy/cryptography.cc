#include "core/privacy/cryptography.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/rand.h>

#include <algorithm>
#include <set>

#include "core/status/freed_by.h"

namespace tributary::privacy {
namespace {

using Key = std::unique_ptr<EVP_PKEY, FreedBy<EVP_PKEY_free>>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, FreedBy<EVP_PKEY_CTX_free>>;
using Cipher = std::unique_ptr<EVP_CIPHER_CTX, FreedBy<EVP_CIPHER_CTX_free>>;

constexpr std::size_t kNonceBytes = 12;
constexpr int kTagBytes = 16;

unsigned char* Bytes(Key32& key) { return reinterpret_cast<unsigned char*>(key.data()); }
const unsigned char* Bytes(const Key32& key) { return reinterpret_cast<const unsigned char*>(key.data()); }
unsigned char* Bytes(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }
const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Key PrivateKey(const Key32& key) {
  return Key(EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nullptr, Bytes(key), key.size()));
}

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

absl::StatusOr<Key32> RandomKey() {
  Key32 key;
  if (RAND_bytes(Bytes(key), key.size()) != 1) return absl::InternalError("no entropy for a key");
  return key;
}

absl::StatusOr<Key32> X25519PublicKey(const Key32& private_key) {
  const Key key = PrivateKey(private_key);
  Key32 result;
  std::size_t size = result.size();
  if (!key || EVP_PKEY_get_raw_public_key(key.get(), Bytes(result), &size) != 1) {
    return absl::InternalError("X25519 gives no public key");
  }
  return result;
}

absl::StatusOr<Key32> X25519Agree(const Key32& private_key, const Key32& peer_public_key) {
  const Key own = PrivateKey(private_key);
  const Key peer(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nullptr, Bytes(peer_public_key), peer_public_key.size()));
  if (!own || !peer) return absl::InternalError("X25519 refuses the key");
  const KeyContext context(EVP_PKEY_CTX_new(own.get(), nullptr));
  Key32 secret;
  std::size_t size = secret.size();
  if (!context || EVP_PKEY_derive_init(context.get()) != 1)
    return absl::InternalError("X25519 does not start");
  if (EVP_PKEY_derive_set_peer(context.get(), peer.get()) != 1 ||
      EVP_PKEY_derive(context.get(), Bytes(secret), &size) != 1) {
    return absl::InvalidArgumentError("a public key of small order: no secret can be agreed");
  }
  return secret;
}

absl::StatusOr<Key32> DeriveKey(const Key32& secret, std::string_view info) {
  const KeyContext context(EVP_PKEY_CTX_new_id(EVP_PKEY_HKDF, nullptr));
  Key32 key;
  std::size_t size = key.size();
  if (!context || EVP_PKEY_derive_init(context.get()) != 1 ||
      EVP_PKEY_CTX_set_hkdf_md(context.get(), EVP_sha256()) != 1 ||
      EVP_PKEY_CTX_set1_hkdf_key(context.get(), Bytes(secret), static_cast<int>(secret.size())) != 1 ||
      EVP_PKEY_CTX_add1_hkdf_info(context.get(), Bytes(info), static_cast<int>(info.size())) != 1 ||
      EVP_PKEY_derive(context.get(), Bytes(key), &size) != 1) {
    return absl::InternalError("HKDF fails");
  }
  return key;
}

absl::StatusOr<std::string> Seal(const Key32& key, std::string_view context, std::string_view plain) {
  std::string sealed(kNonceBytes + plain.size() + kTagBytes, '\0');
  unsigned char* const bytes = Bytes(sealed);
  const Cipher cipher(EVP_CIPHER_CTX_new());
  int written = 0;
  if (!cipher || RAND_bytes(bytes, kNonceBytes) != 1 ||
      EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, Bytes(key), bytes) != 1 ||
      EVP_EncryptUpdate(cipher.get(), nullptr, &written, Bytes(context), static_cast<int>(context.size())) !=
          1 ||
      EVP_EncryptUpdate(cipher.get(), bytes + kNonceBytes, &written, Bytes(plain),
                        static_cast<int>(plain.size())) != 1 ||
      EVP_EncryptFinal_ex(cipher.get(), bytes + kNonceBytes + plain.size(), &written) != 1 ||
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes,
                          bytes + kNonceBytes + plain.size()) != 1) {
    return absl::InternalError("AES-GCM fails");
  }
  return sealed;
}

absl::StatusOr<std::string> Open(const Key32& key, std::string_view context, std::string_view sealed) {
  if (sealed.size() < kNonceBytes + kTagBytes) return absl::DataLossError("too short to be sealed");
  const std::size_t size = sealed.size() - kNonceBytes - kTagBytes;
  std::string tag(sealed.substr(kNonceBytes + size));
  std::string plain(size, '\0');
  const Cipher cipher(EVP_CIPHER_CTX_new());
  int written = 0;
  if (!cipher ||
      EVP_DecryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, Bytes(key), Bytes(sealed)) != 1 ||
      EVP_DecryptUpdate(cipher.get(), nullptr, &written, Bytes(context), static_cast<int>(context.size())) !=
          1 ||
      EVP_DecryptUpdate(cipher.get(), Bytes(plain), &written, Bytes(sealed) + kNonceBytes,
                        static_cast<int>(size)) != 1 ||
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes, tag.data()) != 1) {
    return absl::InternalError("AES-GCM fails");
  }
  if (EVP_DecryptFinal_ex(cipher.get(), Bytes(plain) + size, &written) != 1) {
    return absl::DataLossError("sealed with another key or altered");
  }
  return plain;
}

absl::Status AddKeystream(const Key32& key, std::size_t offset, bool subtract,
                          std::span<std::int32_t> words) {
  constexpr std::size_t kBlockWords = 4;  // of AES
  constexpr std::size_t kBatch = 4096;    // words at a time: stay in the first-level cache
  static const std::vector<std::uint32_t> kZeros(kBatch + kBlockWords);
  std::array<unsigned char, 16> counter{};
  for (std::size_t block = offset / kBlockWords, byte = 15; block > 0; block >>= 8, --byte) {
    counter[byte] = static_cast<unsigned char>(block);
  }
  const Cipher cipher(EVP_CIPHER_CTX_new());
  if (!cipher ||
      EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_ctr(), nullptr, Bytes(key), counter.data()) != 1) {
    return absl::InternalError("AES-CTR does not start");
  }
  std::vector<std::uint32_t> stream(kBatch + kBlockWords);
  std::size_t skip = offset % kBlockWords;
  while (!words.empty()) {
    const std::size_t count = std::min(kBatch, words.size());
    int written = 0;
    if (EVP_EncryptUpdate(cipher.get(), reinterpret_cast<unsigned char*>(stream.data()), &written,
                          reinterpret_cast<const unsigned char*>(kZeros.data()),
                          static_cast<int>((skip + count) * sizeof(std::uint32_t))) != 1) {
      return absl::InternalError("AES-CTR fails");
    }
    for (std::size_t i = 0; i < count; ++i) {
      const auto word = static_cast<std::uint32_t>(words[i]);
      words[i] = static_cast<std::int32_t>(subtract ? word - stream[skip + i] : word + stream[skip + i]);
    }
    words = words.subspan(count);
    skip = 0;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ShamirShare>> SplitSecret(const Key32& secret, std::size_t threshold,
                                                     std::size_t count) {
  if (threshold < 1 || threshold > count || count > 255) {
    return absl::InvalidArgumentError(
        fmt::format("{} of {} shares, at most 255 are possible", threshold, count));
  }
  std::vector<Key32> coefficients(threshold - 1);
  for (Key32& coefficient : coefficients) {
    if (RAND_bytes(Bytes(coefficient), coefficient.size()) != 1) {
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
