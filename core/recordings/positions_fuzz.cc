// A file of positions: what is accepted has a finite position a line; a refusal says which line, in few
// words.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "absl/strings/match.h"
#include "core/recordings/labelled_positions.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace tributary;
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto positions = recordings::ParsePositions(text);
  if (!positions.ok()) {
    constexpr std::size_t kMostOfAMessage = 400;
    if (!absl::StartsWith(positions.status().message(), "line ")) std::abort();
    if (positions.status().message().size() > kMostOfAMessage) std::abort();
    return 0;
  }
  const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1;
  if (positions->size() > lines) std::abort();
  for (const scene::RoomPosition& position : *positions) {
    if (!std::isfinite(position.x) || !std::isfinite(position.y)) std::abort();
  }
  return 0;
}
