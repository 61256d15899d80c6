// Bearer tokens for HTTP, and the file that has their hashes: of viewers, of operators, and of boards that
// join.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tributary::config {

enum class TokenRole : std::uint8_t { kViewer, kOperator, kJoin };
// "viewer", "operator", "join".
std::string_view TokenRoleName(TokenRole role);

struct AccessToken {
  std::string id = {};    // 8 hexadecimal digits; no secret
  std::string name = {};  // who has it
  TokenRole role = TokenRole::kViewer;
  std::string sha256 = {};  // of the token's text, 64 hexadecimal digits
  std::int64_t created_unix_s = 0;
  std::int64_t expires_unix_s = 0;
  std::vector<std::string> boards = {};  // of kJoin: the names for which it gives a certificate, each to one
  std::string ca_sha256 = {};  // of kJoin: the authority's certificate; empty: of an earlier release

  bool operator==(const AccessToken&) const = default;
};

// A token's text, "tributary_" + id + "_" + 64 hexadecimal digits, and what the file says of it. The digits
// are 256 random bits: nobody can guess them from their hash, so a fast hash is right. A slow one, as for
// passwords, would let strangers keep the server busy.
struct NewToken {
  std::string text;
  AccessToken record;
};
// Internal: the system has no random numbers.
absl::StatusOr<NewToken> MakeToken(std::string name, TokenRole role, std::int64_t now_unix_s,
                                   std::int64_t expires_unix_s);

// "a1b2…" of a text: SHA-256 in hexadecimal digits.
std::string Sha256Hex(std::string_view text);

// What a file of tokens holds. Any thread may ask it.
class TokenSet {
 public:
  static constexpr std::size_t kMostTokens = 1'000;
  static constexpr std::size_t kMostBoards = 1'000;  // of one token
  static constexpr std::size_t kMostBytes = std::size_t{1} << 20;

  // Errors: InvalidArgument with one line per fault.
  static absl::StatusOr<TokenSet> Parse(std::string_view text, std::string_view path);
  // No file: no tokens. FailedPrecondition: anybody may write to it or to its folder, or it belongs to
  // somebody else than root, this process's user and the folder's owner. Others as ReadFile and Parse.
  static absl::StatusOr<TokenSet> Read(const std::string& path);
  // As Parse takes it.
  std::string Text() const;

  // The token of this text, also if it has expired; null: there is none.
  const AccessToken* Find(std::string_view text) const;
  const AccessToken* FindId(std::string_view id) const;

  // AlreadyExists: there is one of that name or id. ResourceExhausted: there are kMostTokens.
  absl::Status Add(AccessToken token);
  // By id or name. NotFound.
  absl::StatusOr<AccessToken> Remove(std::string_view id_or_name);

  const std::vector<AccessToken>& tokens() const { return tokens_; }

 private:
  std::vector<AccessToken> tokens_;
};

}  // namespace tributary::config
