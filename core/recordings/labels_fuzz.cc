// A file of labels: what is accepted has one modulation a line; a refusal says which line, in few words.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "absl/strings/match.h"
#include "core/radio/modulation.h"
#include "core/recordings/labelled_recording.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace tributary;
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto labels = recordings::ParseLabels(text);
  if (!labels.ok()) {
    constexpr std::size_t kMostOfAMessage = 400;
    if (!absl::StartsWith(labels.status().message(), "line ")) std::abort();
    if (labels.status().message().size() > kMostOfAMessage) std::abort();
    return 0;
  }
  const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1;
  if (labels->size() > lines) std::abort();
  if (std::ranges::any_of(*labels, [](std::uint8_t k) { return k >= radio::kModulations.size(); }))
    std::abort();
  return 0;
}
