#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <iostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/join/invitation.h"
#include "cli/token/token_file.h"
#include "core/certificates/new_certificate.h"
#include "core/config/access_tokens.h"
#include "core/config/config.h"
#include "core/config/pem.h"
#include "core/runtime/printable.h"
#include "core/runtime/process.h"
#include "core/status/macros.h"
#include "core/wire/json.h"

namespace tributary::cli {
namespace {

constexpr const char* kTokenCreateExamples = R"(Examples:
  tributary token create --file tokens.toml --name wall
  tributary token create --file tokens.toml --name anna --role operator --expires 12h

Prints the token once; the file has its SHA-256 only. Name the file as tokens in [access] of the aggregator's
configuration, and let the aggregator's user read it. The aggregator takes changes within a second. Send the token
over TLS, or on the loopback:
  curl --cacert ca.pem -H "Authorization: Bearer $TOKEN" https://hub:7480/api/v1/runs)";

constexpr const char* kTokenInviteExamples = R"(Examples:
  tributary token invite --file tokens.toml --ca certs/ca.pem --address 10.0.0.1:7480 --board east --board west
  tributary token invite --file tokens.toml --ca certs/ca.pem --address hub:7480 --board=board-{1..100} --expires 2h

Prints one line, which each of the boards gives to `tributary join`. Each name is good for one board. The line has
the address of the aggregator's HTTPS and the hash of its authority, so that a board sends the secret to no other.
The aggregator needs authority in [access]. Give the names their sources with [[site.owner]], or nodes in [access].)";

constexpr const char* kTokenListExamples = "Example:\n  tributary token list --file tokens.toml";
constexpr const char* kTokenRevokeExamples =
    "Examples:\n  tributary token revoke wall --file tokens.toml\n  tributary token revoke 3fa94c12 --file "
    "tokens.toml\n\nThe aggregator ends its event streams and sessions within a second.";

struct TokenCreateArguments {
  std::string file;
  std::string name;
  config::TokenRole role = config::TokenRole::kViewer;
  std::string expires = "30d";
  bool json = false;
};

struct TokenInviteArguments {
  std::string file;
  std::string name;
  std::string ca;
  std::string address;
  std::vector<std::string> boards;
  std::string expires = "1d";
  bool json = false;
};

struct TokenListArguments {
  std::string file;
  bool json = false;
};

struct TokenRevokeArguments {
  std::string file;
  std::string token;
  bool json = false;
};

std::int64_t UnixSecondsNow() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string DateAndTime(std::int64_t unix_s) {
  return fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(unix_s));
}

// A token that nobody has read is of use to nobody, and only this shows it.
absl::Status ShowToken(const std::string& text, const std::string& file, const config::AccessToken& record) {
  if (std::cout << text << std::endl) return absl::OkStatus();
  const int error = errno;
  RETURN_IF_ERROR(
      ChangeTokens(file, [&](config::TokenSet& tokens) { return tokens.Remove(record.id).status(); }));
  return WithExitCode(
      absl::UnavailableError(
          fmt::format("standard output: {}; the token is gone from {} again", std::strerror(error), file)),
      runtime::kExitCantCreate);
}

// What anybody may know of a token; `secret`: what only its holder may.
nlohmann::ordered_json TokenJson(nlohmann::ordered_json secret, const config::AccessToken& record) {
  secret.update({{"id", record.id},
                 {"name", record.name},
                 {"role", config::TokenRoleName(record.role)},
                 {"expires_unix_s", record.expires_unix_s}});
  if (!record.boards.empty()) secret["boards"] = record.boards;
  return secret;
}

absl::Status CreateToken(const TokenCreateArguments& arguments) {
  if (!config::IsName(arguments.name)) {
    return UsageError("--name: expected 1 to 128 bytes without control and hidden characters");
  }
  const absl::StatusOr<std::int64_t> lifetime_s = ParseLifetime(arguments.expires);
  if (!lifetime_s.ok()) return UsageError("--expires: " + std::string(lifetime_s.status().message()));
  const std::int64_t now_s = UnixSecondsNow();
  ASSIGN_OR_RETURN(const config::NewToken token,
                   config::MakeToken(arguments.name, arguments.role, now_s, now_s + *lifetime_s));
  RETURN_IF_ERROR(
      ChangeTokens(arguments.file, [&](config::TokenSet& tokens) { return tokens.Add(token.record); }));
  if (arguments.json) {
    return ShowToken(wire::DumpJson(TokenJson({{"token", token.text}}, token.record)), arguments.file,
                     token.record);
  }
  return ShowToken(token.text, arguments.file, token.record);
}

// The hash by which a board knows the authority.
absl::StatusOr<std::string> HashOfAuthority(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string pem, config::ReadPem(path));
  const std::vector<config::Certificate> certificates = config::CertificatesIn(pem);
  if (certificates.size() == 1 && X509_check_ca(certificates.front().get()) != 0)
    return certificates::Fingerprint(*certificates.front());
  return absl::InvalidArgumentError(fmt::format(
      "{}: expected one certificate, of an authority: the ca.pem beside the ca.key in [access] authority",
      path));
}

absl::Status CheckBoards(const std::vector<std::string>& boards) {
  const std::set<std::string> names(boards.begin(), boards.end());
  if (boards.size() > config::TokenSet::kMostBoards || names.size() != boards.size()) {
    return UsageError(fmt::format("--board: at most {} names, each once", config::TokenSet::kMostBoards));
  }
  for (const std::string& board : boards) {
    if (certificates::IsCertificateName(board)) continue;
    return UsageError(fmt::format(
        "--board \"{}\": expected 1 to 63 letters, digits, '-', '_' or '.', and not \"ca\"", board));
  }
  return absl::OkStatus();
}

absl::Status InviteBoards(const TokenInviteArguments& arguments) {
  RETURN_IF_ERROR(CheckBoards(arguments.boards));
  const std::string name = arguments.name.empty() ? "join " + arguments.boards.front() : arguments.name;
  if (!config::IsName(name)) return UsageError("--name: expected 1 to 128 bytes without control characters");
  const absl::StatusOr<std::int64_t> lifetime_s = ParseLifetime(arguments.expires);
  if (!lifetime_s.ok()) return UsageError("--expires: " + std::string(lifetime_s.status().message()));
  ASSIGN_OR_RETURN(const std::string ca_sha256, HashOfAuthority(arguments.ca));
  const std::int64_t now_s = UnixSecondsNow();
  ASSIGN_OR_RETURN(config::NewToken token,
                   config::MakeToken(name, config::TokenRole::kJoin, now_s, now_s + *lifetime_s));
  const absl::StatusOr<Invitation> invitation =
      ParseInvitation(Invitation{token.text, ca_sha256, arguments.address}.Text());
  if (!invitation.ok()) return UsageError("--address: expected HOST:PORT of the aggregator's HTTPS");
  token.record.boards = arguments.boards;
  token.record.ca_sha256 = ca_sha256;
  RETURN_IF_ERROR(
      ChangeTokens(arguments.file, [&](config::TokenSet& tokens) { return tokens.Add(token.record); }));
  const std::string text = arguments.json
                               ? wire::DumpJson(TokenJson({{"invitation", invitation->Text()}}, token.record))
                               : invitation->Text();
  return ShowToken(text, arguments.file, token.record);
}

// An absent file has no tokens, which the aggregator takes; whoever asks may have mistyped it.
absl::Status CheckThere(const std::string& file) {
  if (access(file.c_str(), F_OK) == 0) return absl::OkStatus();
  return absl::NotFoundError(fmt::format("{}: {}", file, std::strerror(errno)));
}

absl::Status ListTokens(const TokenListArguments& arguments) {
  RETURN_IF_ERROR(CheckThere(arguments.file));
  ASSIGN_OR_RETURN(const config::TokenSet tokens, config::TokenSet::Read(arguments.file));
  const std::int64_t now_s = UnixSecondsNow();
  if (arguments.json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const config::AccessToken& each : tokens.tokens()) {
      list.push_back({{"id", each.id},
                      {"name", each.name},
                      {"role", config::TokenRoleName(each.role)},
                      {"created_unix_s", each.created_unix_s},
                      {"expires_unix_s", each.expires_unix_s},
                      {"expired", now_s >= each.expires_unix_s},
                      {"boards", each.boards}});
    }
    std::cout << wire::DumpJson({{"tokens", std::move(list)}}) << "\n";
    return absl::OkStatus();
  }
  for (const config::AccessToken& each : tokens.tokens()) {
    const std::string boards = each.boards.empty() ? "" : fmt::format(": {}", fmt::join(each.boards, ", "));
    std::cout << fmt::format("{}  {:8}  {} {}  {}{}\n", each.id, config::TokenRoleName(each.role),
                             now_s >= each.expires_unix_s ? "expired on" : "expires on",
                             DateAndTime(each.expires_unix_s), runtime::Printable(each.name),
                             runtime::Printable(boards));
  }
  if (tokens.tokens().empty()) std::cout << "no tokens\n";
  return absl::OkStatus();
}

absl::Status RevokeToken(const TokenRevokeArguments& arguments) {
  RETURN_IF_ERROR(CheckThere(arguments.file));
  config::AccessToken revoked;
  RETURN_IF_ERROR(ChangeTokens(arguments.file, [&](config::TokenSet& tokens) -> absl::Status {
    ASSIGN_OR_RETURN(revoked, tokens.Remove(arguments.token));
    return absl::OkStatus();
  }));
  if (arguments.json) {
    std::cout << wire::DumpJson({{"revoked", {{"id", revoked.id}, {"name", revoked.name}}}}) << "\n";
    return absl::OkStatus();
  }
  std::cout << fmt::format("revoked {} of {}\n", revoked.id, runtime::Printable(revoked.name));
  return absl::OkStatus();
}

constexpr const char* kTokenFileHelp = "File of tokens, as in [access] tokens";

}  // namespace

void AddTokenCreateCommand(Commands& token) {
  auto [command, arguments] =
      token.Add<TokenCreateArguments>("create", "Make a bearer token for the aggregator's HTTP", CreateToken);
  command.Text("--file", arguments.file, "FILE", kTokenFileHelp)->required();
  command.Text("--name", arguments.name, "NAME", "Who gets it; unique in the file")->required();
  command.Choice("--role", arguments.role,
                 {{"viewer", config::TokenRole::kViewer}, {"operator", config::TokenRole::kOperator}},
                 "What it allows; an operator is a viewer too");
  command.Text("--expires", arguments.expires, "TIME", "How long it is valid, as 12h or 30d; at most 366d");
  command.Json(arguments.json);
  command.Examples(kTokenCreateExamples);
}

void AddTokenInviteCommand(Commands& token) {
  auto [command, arguments] =
      token.Add<TokenInviteArguments>("invite", "Make a token by which boards join", InviteBoards);
  command.Text("--file", arguments.file, "FILE", kTokenFileHelp)->required();
  command.Text("--ca", arguments.ca, "FILE", "ca.pem of the authority, as in [access] authority")->required();
  command.Text("--address", arguments.address, "HOST:PORT", "Where boards reach the aggregator's HTTPS")
      ->required();
  command
      .Texts("--board", arguments.boards, "NAME", "Name of a board; repeat for more: one board for each name")
      ->required();
  command.Text("--name", arguments.name, "NAME",
               "The token's name, unique in the file; default: join and the first board");
  command.Text("--expires", arguments.expires, "TIME",
               "How long boards can join, as 12h or 30d; at most 366d");
  command.Json(arguments.json);
  command.Examples(kTokenInviteExamples);
}

void AddTokenListCommand(Commands& token) {
  auto [command, arguments] = token.Add<TokenListArguments>("list", "List the tokens of a file", ListTokens);
  command.Text("--file", arguments.file, "FILE", kTokenFileHelp)->required();
  command.Json(arguments.json);
  command.Examples(kTokenListExamples);
}

void AddTokenRevokeCommand(Commands& token) {
  auto [command, arguments] = token.Add<TokenRevokeArguments>("revoke", "Take a token back", RevokeToken);
  command.Text("token", arguments.token, "NAME|ID", "Its name or id")->required();
  command.Text("--file", arguments.file, "FILE", kTokenFileHelp)->required();
  command.Json(arguments.json);
  command.Examples(kTokenRevokeExamples);
}

}  // namespace tributary::cli
