#include "core/privacy/cryptography.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <vector>

#include "absl/strings/escaping.h"

namespace tributary::privacy {
namespace {

Key32 KeyOf(const char* hex) {
  const std::string bytes = absl::HexStringToBytes(hex);
  EXPECT_EQ(bytes.size(), sizeof(Key32));
  Key32 key{};
  std::memcpy(key.data(), bytes.data(), key.size());
  return key;
}

Key32 Ascending() {
  Key32 key;
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::byte>(i);
  return key;
}

// RFC 7748, 5.2, first vector.
TEST(CipherTest, AgreesOnAKeyAsTheStandardSays) {
  EXPECT_EQ(*X25519Agree(KeyOf("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4"),
                         KeyOf("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c")),
            KeyOf("c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552"));
}

TEST(CipherTest, BothSidesAgreeOnTheSameKey) {
  const Key32 a = *RandomKey(), b = *RandomKey();
  EXPECT_NE(a, b);
  EXPECT_EQ(*X25519Agree(a, *X25519PublicKey(b)), *X25519Agree(b, *X25519PublicKey(a)));
}

// RFC 7748, 6.1: a point of small order gives zero, which nobody may use as a secret.
TEST(CipherTest, RefusesAPublicKeyOfSmallOrder) {
  Key32 point{};
  EXPECT_EQ(X25519Agree(*RandomKey(), point).status().code(), absl::StatusCode::kInvalidArgument);
  point[0] = std::byte{1};
  EXPECT_EQ(X25519Agree(*RandomKey(), point).status().code(), absl::StatusCode::kInvalidArgument);
}

// Expected by Python's hmac: HMAC(HMAC(0^32, key), "tributary" 0x01), as RFC 5869 says.
TEST(CipherTest, DerivesKeysAsTheStandardSays) {
  EXPECT_EQ(*DeriveKey(Ascending(), "tributary"),
            KeyOf("358575910f8165ee1910764986a0d54a73a69be3c1fcfbb0652300dcac05fd0a"));
}

TEST(CipherTest, OpensWhatItSealedAndNothingElse) {
  const Key32 key = Ascending();
  const std::string plain = "two shares";
  const std::string sealed = *Seal(key, "from a to b", plain);
  EXPECT_EQ(*Open(key, "from a to b", sealed), plain);
  EXPECT_NE(*Seal(key, "from a to b", plain), sealed) << "the nonce must differ";
  EXPECT_EQ(Open(key, "from b to a", sealed).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Open(*RandomKey(), "from a to b", sealed).status().code(), absl::StatusCode::kDataLoss);
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    std::string altered = sealed;
    altered[i] = static_cast<char>(altered[i] ^ 0x10);
    EXPECT_EQ(Open(key, "from a to b", altered).status().code(), absl::StatusCode::kDataLoss) << i;
    EXPECT_EQ(Open(key, "from a to b", sealed.substr(0, i)).status().code(), absl::StatusCode::kDataLoss)
        << i;
  }
}

// AES-256 of the counters 0, 1 and 256 under the key of FIPS 197, C.3, by an independent implementation.
TEST(CipherTest, MakesTheKeystreamOfCounterMode) {
  std::vector<std::int32_t> words(1028);
  ASSERT_TRUE(AddKeystream(Ascending(), 0, false, words).ok());
  const std::vector<std::uint32_t> first = {0xb60090f2, 0xd09f492a, 0x6a9af3a9, 0x80772edd,
                                            0xae765df0, 0xe59fb94a, 0x319bf6a6, 0x3d36c248};
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(static_cast<std::uint32_t>(words[i]), first[i]);
  EXPECT_EQ(static_cast<std::uint32_t>(words[1024]), 0x30562e51u);
}

TEST(CipherTest, TheKeystreamDoesNotDependOnHowItIsCut) {
  std::vector<std::int32_t> whole(20'011), pieces(20'011);
  ASSERT_TRUE(AddKeystream(Ascending(), 0, false, whole).ok());
  const std::span<std::int32_t> all = pieces;
  for (std::size_t offset = 0; offset < pieces.size();) {
    const std::size_t count = std::min<std::size_t>(offset % 7000 + 1, pieces.size() - offset);
    ASSERT_TRUE(AddKeystream(Ascending(), offset, false, all.subspan(offset, count)).ok());
    offset += count;
  }
  EXPECT_EQ(pieces, whole);
  ASSERT_TRUE(AddKeystream(Ascending(), 0, true, pieces).ok());
  EXPECT_EQ(pieces, std::vector<std::int32_t>(20'011));
}

Key32 Secret() {
  Key32 secret;
  for (std::size_t i = 0; i < secret.size(); ++i) secret[i] = static_cast<std::byte>(37 * i + 11);
  return secret;
}

TEST(ShamirTest, AnyThresholdOfTheSharesGivesTheSecret) {
  std::mt19937_64 random(1);
  for (const auto& [threshold, count] : {std::pair{1, 1}, {1, 5}, {2, 3}, {4, 7}, {7, 7}, {170, 255}}) {
    auto shares = SplitSecret(Secret(), threshold, count);
    ASSERT_TRUE(shares.ok());
    for (int trial = 0; trial < 3; ++trial) {
      std::shuffle(shares->begin(), shares->end(), random);
      const std::span<const ShamirShare> some = *shares;
      EXPECT_EQ(*JoinShares(some.first(static_cast<std::size_t>(threshold))), Secret());
      EXPECT_EQ(*JoinShares(some), Secret());
      if (threshold > 1) {
        EXPECT_NE(*JoinShares(some.first(static_cast<std::size_t>(threshold - 1))), Secret());
      }
    }
  }
}

// One share fewer than needed reveals nothing: over many splits its bytes take all values, whatever the
// secret.
TEST(ShamirTest, ASingleShareIsUniform) {
  std::set<std::byte> seen;
  for (int i = 0; i < 200; ++i) {
    const auto shares = SplitSecret(Secret(), 2, 3);
    seen.insert((*shares)[0].value.begin(), (*shares)[0].value.end());
  }
  EXPECT_EQ(seen.size(), 256u);
}

TEST(ShamirTest, RefusesSharesThatCannotBe) {
  EXPECT_FALSE(SplitSecret(Secret(), 0, 3).ok());
  EXPECT_FALSE(SplitSecret(Secret(), 4, 3).ok());
  EXPECT_FALSE(SplitSecret(Secret(), 2, 256).ok());
  EXPECT_FALSE(JoinShares({}).ok());
  auto shares = *SplitSecret(Secret(), 2, 3);
  shares[1].abscissa = shares[0].abscissa;
  EXPECT_FALSE(JoinShares(shares).ok());
  shares[1].abscissa = 0;
  EXPECT_FALSE(JoinShares(shares).ok());
}

}  // namespace
}  // namespace tributary::privacy
