// Any file of tokens: read or refused; what is read is written and read again as the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/config/access_tokens.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using tributary::config::TokenSet;
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto set = TokenSet::Parse(text, "tokens.toml");
  if (!set.ok()) return 0;
  if (set->Find(text) != nullptr) std::abort();
  const auto again = TokenSet::Parse(set->Text(), "tokens.toml");
  if (!again.ok() || again->tokens() != set->tokens()) std::abort();
  return 0;
}
