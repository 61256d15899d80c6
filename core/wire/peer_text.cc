#include "core/wire/peer_text.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_replace.h"

namespace tributary::wire {

std::string PeerText(const std::string& text) {
  constexpr std::size_t kMaxBytes = 240;
  // Quotes are harmless, and common in messages.
  return absl::StrReplaceAll(absl::CHexEscape(text.substr(0, kMaxBytes)), {{"\\\"", "\""}, {"\\'", "'"}});
}

}  // namespace tributary::wire
