#include "cli/watch/slot_option.h"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "absl/strings/numbers.h"

namespace tributary::cli {
namespace {

std::optional<estimate::SlotLength> ParseSlot(const std::string& text) {
  double ms = 0;
  return absl::SimpleAtod(text, &ms) ? estimate::SlotLength::FromMs(ms) : std::nullopt;
}

std::string Fault(const std::string& text) {
  if (ParseSlot(text)) return "";
  return fmt::format("\"{}\" is not a length from {} to {} ms", text, estimate::SlotLength::kShortestMs,
                     estimate::SlotLength::kLongestMs);
}

}  // namespace

void AddSlotOption(CLI::App& command, estimate::SlotLength& slot) {
  command
      .add_option_function<std::string>(
          "--slot-ms", [&slot](const std::string& text) { slot = ParseSlot(text).value_or(slot); },
          "Length of the site's slots, its slot_ms")
      ->check(CLI::Validator([](std::string& text) { return Fault(text); }, ""))
      ->default_str("0.5")
      ->type_name("MS");
}

}  // namespace tributary::cli
