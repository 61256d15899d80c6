#include "aggregator/join/board_names.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/runtime/printable.h"

namespace tributary::join {

BoardNames::BoardNames(const certificates::IssueRecord& record) {
  for (const certificates::IssueRecord::Line& line : record.lines()) {
    if (!line.joined.token.empty()) Take(line.joined.token, line.name, line.joined.key_sha256);
  }
}

void BoardNames::Take(const std::string& token_id, const std::string& name, const std::string& key_sha256) {
  key_of_.try_emplace({token_id, name}, key_sha256);
  name_of_.try_emplace({token_id, key_sha256}, name);
}

absl::StatusOr<std::string> BoardNames::NameFor(const config::AccessToken& token, const std::string& wanted,
                                                const std::string& key_sha256) const {
  if (const auto own = name_of_.find({token.id, key_sha256}); own != name_of_.end()) {
    if (wanted.empty() || wanted == own->second) return own->second;
    return absl::PermissionDeniedError(fmt::format(
        "this board has joined as \"{}\": leave out --name, or give it another key with --out FOLDER",
        own->second));
  }
  const auto taken = [&](const std::string& name) { return key_of_.contains({token.id, name}); };
  if (!wanted.empty()) {
    if (std::ranges::count(token.boards, wanted) == 0) {
      return absl::PermissionDeniedError(
          fmt::format("the token \"{}\" gives no certificate for \"{}\": make one with `tributary token "
                      "invite --board`",
                      token.name, runtime::Printable(wanted)));
    }
    if (!taken(wanted)) return wanted;
    return absl::AlreadyExistsError(
        fmt::format("another board has joined as \"{}\" by the token \"{}\": revoke its certificate if it is "
                    "lost, and make another token with `tributary token invite`",
                    wanted, token.name));
  }
  const auto free = std::ranges::find_if_not(token.boards, taken);
  if (free != token.boards.end()) return *free;
  return absl::ResourceExhaustedError(
      fmt::format("the token \"{}\" is used up: {} joined by it; make another with `tributary token invite`",
                  token.name, runtime::Counted(token.boards.size(), "board")));
}

}  // namespace tributary::join
