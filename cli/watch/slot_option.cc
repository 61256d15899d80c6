#include "cli/watch/slot_option.h"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "absl/strings/numbers.h"

namespace tributary::cli {
namespace {

std::string ReadSlot(const std::string& text, estimate::SlotLength& slot) {
  double ms = 0;
  const auto read = absl::SimpleAtod(text, &ms) ? estimate::SlotLength::FromMs(ms) : std::nullopt;
  if (!read) {
    return NotAllowed(text, fmt::format("a length from {} to {} ms", estimate::SlotLength::kShortestMs,
                                        estimate::SlotLength::kLongestMs));
  }
  slot = *read;
  return "";
}

}  // namespace

void AddSlotOption(Command& command, estimate::SlotLength& slot) {
  command.Value("--slot-ms", "MS", "Length of the site's slots, its slot_ms", "0.5",
                [&slot](const std::string& text) { return ReadSlot(text, slot); });
}

}  // namespace tributary::cli
