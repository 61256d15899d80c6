#include "core/config/access_tokens.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "core/config/config.h"
#include "core/config/toml_text.h"
#include "core/config/writers.h"
#include "core/runtime/file.h"
#include "core/status/macros.h"

namespace tributary::config {
namespace {

constexpr std::string_view kTokenPrefix = "tributary_";
constexpr std::size_t kIdDigits = 8;
constexpr std::size_t kSecretBytes = 32;

bool IsHex(std::string_view text, std::size_t digits) {
  return text.size() == digits && std::ranges::all_of(text, [](char c) {
           return absl::ascii_isdigit(static_cast<unsigned char>(c)) || (c >= 'a' && c <= 'f');
         });
}

absl::StatusOr<std::string> RandomHex(std::size_t bytes) {
  std::string random(bytes, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(random.data()), static_cast<int>(bytes)) != 1) {
    return absl::InternalError("the system has no random numbers");
  }
  return absl::BytesToHexString(random);
}

AccessToken ReadToken(const ConfigSection& section) {
  AccessToken token;
  section.Read("id", token.id);
  if (!IsHex(token.id, kIdDigits)) section.Fault("id", "expected 8 hexadecimal digits in lower case");
  section.ReadName("name", token.name);
  section.Choose("role", token.role, {"viewer", "operator", "join"});
  section.Read("sha256", token.sha256);
  if (!IsHex(token.sha256, 64)) section.Fault("sha256", "expected 64 hexadecimal digits in lower case");
  section.Read("created_unix_s", token.created_unix_s, {0, std::int64_t{1} << 40});
  section.Read("expires_unix_s", token.expires_unix_s, {0, std::int64_t{1} << 40});
  section.Read("boards", token.boards);
  section.Read("ca_sha256", token.ca_sha256);
  if (!token.ca_sha256.empty() && !IsHex(token.ca_sha256, 64)) {
    section.Fault("ca_sha256", "expected 64 hexadecimal digits in lower case");
  }
  const bool joins = token.role == TokenRole::kJoin;
  if (joins == token.boards.empty()) {
    section.Fault("boards", joins ? "is required with the role join" : "goes with the role join only");
  } else if (token.boards.size() > TokenSet::kMostBoards) {
    section.Fault("boards", fmt::format("has more than {} names", TokenSet::kMostBoards));
  } else if (!std::ranges::all_of(token.boards, IsName) ||
             std::set<std::string>(token.boards.begin(), token.boards.end()).size() != token.boards.size()) {
    section.Fault("boards", "expected names of 1 to 128 bytes without control characters, each once");
  }
  return token;
}

// Takes as long whatever differs.
bool EqualInConstantTime(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

std::string_view TokenRoleName(TokenRole role) {
  if (role == TokenRole::kJoin) return "join";
  return role == TokenRole::kOperator ? "operator" : "viewer";
}

std::string Sha256Hex(std::string_view text) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return absl::BytesToHexString({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

absl::StatusOr<NewToken> MakeToken(std::string name, TokenRole role, std::int64_t now_unix_s,
                                   std::int64_t expires_unix_s) {
  ASSIGN_OR_RETURN(std::string id, RandomHex(kIdDigits / 2));
  ASSIGN_OR_RETURN(const std::string secret, RandomHex(kSecretBytes));
  std::string text = fmt::format("{}{}_{}", kTokenPrefix, id, secret);
  std::string hash = Sha256Hex(text);
  return NewToken{std::move(text),
                  {.id = std::move(id),
                   .name = std::move(name),
                   .role = role,
                   .sha256 = std::move(hash),
                   .created_unix_s = now_unix_s,
                   .expires_unix_s = expires_unix_s}};
}

absl::StatusOr<TokenSet> TokenSet::Parse(std::string_view text, std::string_view path) {
  ASSIGN_OR_RETURN(const ConfigFile file, ConfigFile::Parse(text, path));
  TokenSet set;
  std::set<std::string> ids, names;
  const std::vector<ConfigSection> sections = file.Root().List("token");
  for (const ConfigSection& section : sections) {
    set.tokens_.push_back(ReadToken(section));
    const AccessToken& token = set.tokens_.back();
    if (!ids.insert(token.id).second) section.Fault("id", "is the id of two tokens");
    if (!names.insert(token.name).second) section.Fault("name", "is the name of two tokens");
  }
  if (sections.size() > kMostTokens) file.Fault("", fmt::format("has more than {} tokens", kMostTokens));
  RETURN_IF_ERROR(file.Finish());
  return set;
}

absl::StatusOr<TokenSet> TokenSet::Read(const std::string& path) {
  RETURN_IF_ERROR(CheckWriters(path, "make tokens"));
  absl::StatusOr<std::string> text = runtime::ReadFile(path, kMostBytes);
  if (absl::IsNotFound(text.status())) return TokenSet();
  RETURN_IF_ERROR(text.status());
  return Parse(*text, path);
}

std::string TokenSet::Text() const {
  std::string text =
      "# Bearer tokens of an aggregator's HTTP, written by `tributary token`. They stand here as hashes.\n";
  for (const AccessToken& each : tokens_) {
    text += fmt::format(
        "\n[[token]]\nid = \"{}\"\nname = {}\nrole = \"{}\"\nsha256 = \"{}\"\ncreated_unix_s = {}\n"
        "expires_unix_s = {}\n",
        each.id, QuotedToml(each.name), TokenRoleName(each.role), each.sha256, each.created_unix_s,
        each.expires_unix_s);
    if (each.boards.empty()) continue;
    text += "boards = [";
    for (const std::string& board : each.boards) text += QuotedToml(board) + ", ";
    text += "]\n";
    if (!each.ca_sha256.empty()) text += fmt::format("ca_sha256 = \"{}\"\n", each.ca_sha256);
  }
  return text;
}

const AccessToken* TokenSet::Find(std::string_view text) const {
  if (!text.starts_with(kTokenPrefix)) return nullptr;
  // The id is no secret, so finding it may take a different time.
  const AccessToken* const token = FindId(text.substr(kTokenPrefix.size(), kIdDigits));
  if (token == nullptr) return nullptr;
  return EqualInConstantTime(Sha256Hex(text), token->sha256) ? token : nullptr;
}

const AccessToken* TokenSet::FindId(std::string_view id) const {
  const auto found = std::ranges::find(tokens_, id, &AccessToken::id);
  return found == tokens_.end() ? nullptr : &*found;
}

absl::Status TokenSet::Add(AccessToken token) {
  if (tokens_.size() >= kMostTokens) {
    return absl::ResourceExhaustedError(
        fmt::format("there are {} tokens: revoke those that are not in use", kMostTokens));
  }
  for (const AccessToken& each : tokens_) {
    if (each.name != token.name && each.id != token.id) continue;
    return absl::AlreadyExistsError(
        fmt::format("there is a token \"{}\": revoke it first, or take another name", each.name));
  }
  tokens_.push_back(std::move(token));
  return absl::OkStatus();
}

absl::StatusOr<AccessToken> TokenSet::Remove(std::string_view id_or_name) {
  auto found = std::ranges::find(tokens_, id_or_name, &AccessToken::name);
  if (found == tokens_.end()) found = std::ranges::find(tokens_, id_or_name, &AccessToken::id);
  if (found == tokens_.end()) {
    return absl::NotFoundError(
        fmt::format("there is no token \"{}\"; `tributary token list` shows them", id_or_name));
  }
  AccessToken removed = std::move(*found);
  tokens_.erase(found);
  return removed;
}

}  // namespace tributary::config
