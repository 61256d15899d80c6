// Any beginning: how long the first words are is told by their first bytes, and more bytes change nothing.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "aggregator/server/first_words.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace tributary::server;
  constexpr std::size_t kMostRecord = 5 + 16'384;
  const std::string_view words(reinterpret_cast<const char*>(bytes), size);
  std::size_t last = 0;
  for (std::size_t i = 0; i <= size && i <= kMostBeginning; ++i) {
    const std::size_t whole = BytesOfFirstWords(words.substr(0, i));
    if (whole > kMostRecord) std::abort();
    // A connection that waits for bytes that have come would wait for ever.
    if (last != 0 && last <= i - 1 && whole != last && whole != 0) std::abort();
    last = whole;
  }
  return 0;
}
