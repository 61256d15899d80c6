#include "aggregator/access/sessions.h"

#include <algorithm>

#include "core/config/access_tokens.h"
#include "core/status/macros.h"

namespace tributary::access {

absl::StatusOr<std::string> Sessions::Open(const std::string& token_id, std::int64_t now_unix_s) {
  // The secret of a token that nobody gets: the same 256 random bits.
  ASSIGN_OR_RETURN(const config::NewToken random, config::MakeToken("", config::TokenRole::kViewer, 0, 0));
  const std::string secret = random.text.substr(random.text.rfind('_') + 1);
  MakeRoom(token_id, now_unix_s);
  sessions_[config::Sha256Hex(secret)] = {token_id, now_unix_s, ++opened_};
  return secret;
}

void Sessions::MakeRoom(const std::string& token_id, std::int64_t now_unix_s) {
  std::erase_if(sessions_,
                [&](const auto& each) { return now_unix_s >= each.second.opened_unix_s + kLifetimeS; });
  const auto remove_oldest = [this](const auto& counts) {
    auto oldest = sessions_.end();
    for (auto each = sessions_.begin(); each != sessions_.end(); ++each) {
      if (!counts(each->second)) continue;
      if (oldest == sessions_.end() || each->second.number < oldest->second.number) oldest = each;
    }
    sessions_.erase(oldest);
  };
  const auto of_token = [&](const Session& session) { return session.token_id == token_id; };
  const auto held = std::ranges::count_if(sessions_, [&](const auto& each) { return of_token(each.second); });
  if (static_cast<std::size_t>(held) >= kMostOfToken) return remove_oldest(of_token);
  if (sessions_.size() >= kMost) remove_oldest([](const Session&) { return true; });
}

std::string Sessions::TokenOf(std::string_view secret, std::int64_t now_unix_s) const {
  const auto found = sessions_.find(config::Sha256Hex(secret));
  if (found == sessions_.end() || now_unix_s >= found->second.opened_unix_s + kLifetimeS) return "";
  return found->second.token_id;
}

void Sessions::Close(std::string_view secret) { sessions_.erase(config::Sha256Hex(secret)); }

}  // namespace tributary::access
