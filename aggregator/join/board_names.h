// Which name a board gets by a token that lets boards join.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/certificates/issue_record.h"
#include "core/config/access_tokens.h"

namespace tributary::join {

// Each name of a token goes to one board, which is known by its key: the same board may ask again, because an
// answer can be lost. One thread's.
class BoardNames {
 public:
  explicit BoardNames(const certificates::IssueRecord& record);

  // The name for the board with this key: the one it has, the `wanted` one, or the first that is free.
  // Errors: PermissionDenied, the token does not give the wanted name, or the board has another one;
  // AlreadyExists, another board has it; ResourceExhausted, no name is left.
  absl::StatusOr<std::string> NameFor(const config::AccessToken& token, const std::string& wanted,
                                      const std::string& key_sha256) const;
  void Take(const std::string& token_id, const std::string& name, const std::string& key_sha256);

 private:
  using TokenAnd = std::pair<std::string, std::string>;
  std::map<TokenAnd, std::string> key_of_;   // by token and name
  std::map<TokenAnd, std::string> name_of_;  // by token and key
};

}  // namespace tributary::join
