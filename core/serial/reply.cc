#include "core/serial/reply.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>

namespace tributary::serial {
namespace {

constexpr std::string_view kOk = "ok", kError = "error ";
constexpr std::size_t kMostShown = 60;

// Sets `text` behind the number. False unless it begins with one.
template <class Number>
bool ReadNumber(std::string_view& text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

std::string Printable(std::string_view text) {
  std::string shown(text.substr(0, kMostShown));
  std::ranges::replace_if(
      shown, [](char c) { return c < ' ' || c > '~'; }, '?');
  return shown;
}

}  // namespace

std::string OutputsText(const Outputs& outputs) { return fmt::format("{},{}", outputs[0], outputs[1]); }

std::string RetrainingText(const Retraining& retraining) {
  return fmt::format("ok {} {:.5f} {:.5f} {}", retraining.epochs, retraining.error_before,
                     retraining.error_after, retraining.taken ? "taken" : "kept");
}

std::string RefusalText(std::size_t position, std::string_view what) {
  return fmt::format("{}{} {}", kError, position, Printable(what));
}

absl::StatusOr<Reply> ParseReply(std::string_view line) {
  const auto unreadable = [line] {
    return absl::DataLossError(fmt::format("\"{}\" is no reply of a beacon board", Printable(line)));
  };
  if (line == kOk) return Done{};
  if (line.starts_with("ok ")) return Done{Printable(line.substr(3))};
  if (line.starts_with(kError)) {
    line.remove_prefix(kError.size());
    Refusal refusal;
    if (!ReadNumber(line, refusal.position)) return unreadable();
    if (!line.empty()) line.remove_prefix(1);
    refusal.what = Printable(line);
    return refusal;
  }
  Outputs outputs;
  std::string_view rest = line;
  if (!ReadNumber(rest, outputs[0]) || !rest.starts_with(',')) return unreadable();
  rest.remove_prefix(1);
  if (!ReadNumber(rest, outputs[1]) || !rest.empty()) return unreadable();
  return outputs;
}

}  // namespace tributary::serial
