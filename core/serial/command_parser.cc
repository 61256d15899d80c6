#include "core/serial/command_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

namespace tributary::serial {
namespace {

constexpr std::size_t kMostCharacters = 11;  // "-2147483648"
constexpr std::size_t kSampleNumbers = 5;

bool IsSeparator(char byte) {
  return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n' || byte == ',';
}

struct Range {
  Word least;
  Word most;
  const char* what;
};

// The limits of the number at `position` of the command that begins with `word`.
Range RangeOf(std::size_t position, Word word) {
  if (position == 0) return {-2, Word{kMostInputs}, "a command word"};
  if (word < 0) return {kLeastWeight, kMostWeight, "a weight"};
  if (word == 0 && position == 1) return {1, Word{kMostSamples}, "a number of samples"};
  return {kLeastValue, kMostValue, "a value"};
}

Inputs InputsAt(const std::vector<Word>& numbers, std::size_t at) {
  Inputs inputs;
  std::copy_n(numbers.begin() + static_cast<std::ptrdiff_t>(at), inputs.size(), inputs.begin());
  return inputs;
}

}  // namespace

std::optional<Parsed> CommandParser::Take(char byte, std::int64_t now_ns) {
  const bool quiet = now_ns - std::exchange(last_ns_, now_ns) >= kQuietNs;
  if (ignoring_) {
    if (quiet) {
      Restart();
    } else {
      ++ignored_bytes_;
      if (byte == '\n' && std::exchange(line_is_empty_, true)) Restart();
      if (!IsSeparator(byte)) line_is_empty_ = false;
      return std::nullopt;
    }
  }
  if (IsSeparator(byte)) return EndNumber();
  if (byte == '?' && numbers_.empty() && number_.empty()) return Command(AskVersion());
  return TakeDigit(byte);
}

std::optional<Fault> CommandParser::Idle(std::int64_t now_ns) {
  const std::int64_t silence_ns = now_ns - last_ns_;
  if (ignoring_) {
    if (silence_ns >= kQuietNs) Restart();
    return std::nullopt;
  }
  if ((numbers_.empty() && number_.empty()) || silence_ns < timeout_ns_) return std::nullopt;
  Fault fault = Refuse(FaultKind::kTimeout, fmt::format("nothing for {} ms, {} of {} numbers are here",
                                                        timeout_ns_ / 1'000'000, numbers_.size(), expected_));
  Restart();  // the line is quiet
  return fault;
}

std::optional<Parsed> CommandParser::TakeDigit(char byte) {
  const bool digit = byte >= '0' && byte <= '9';
  if (!digit && !(byte == '-' && number_.empty())) {
    return Refuse(FaultKind::kNoise,
                  fmt::format("byte 0x{:02x} belongs to no number", static_cast<unsigned char>(byte)));
  }
  number_ += byte;
  if (number_.size() > kMostCharacters) return Refuse(FaultKind::kNoise, "a number of more than 32 bits");
  return std::nullopt;
}

std::optional<Parsed> CommandParser::EndNumber() {
  if (number_.empty()) return std::nullopt;
  Word number = 0;
  const auto [end, error] = std::from_chars(number_.data(), number_.data() + number_.size(), number);
  if (error == std::errc::result_out_of_range)
    return Refuse(FaultKind::kNoise, "a number of more than 32 bits");
  if (error != std::errc()) return Refuse(FaultKind::kNoise, "a sign without a number");
  number_.clear();
  return TakeNumber(number);
}

std::optional<Parsed> CommandParser::TakeNumber(Word number) {
  const std::size_t position = numbers_.size();
  const Word word = position == 0 ? number : numbers_.front();
  if (const Range range = RangeOf(position, word); number < range.least || number > range.most) {
    return Refuse(FaultKind::kRange, fmt::format("{} is {}, it must be from {} to {}", range.what, number,
                                                 range.least, range.most));
  }
  numbers_.push_back(number);
  if (position == 0) {
    const auto magnitude = static_cast<std::size_t>(word < 0 ? -word : word);
    expected_ = 1 + (word < 0 ? kLayerWeights[magnitude - 1] : word == 0 ? 1 : 3 * magnitude);
  } else if (position == 1 && word == 0) {
    expected_ = 2 + kSampleNumbers * static_cast<std::size_t>(number);
  }
  if (numbers_.size() < expected_) return std::nullopt;
  return Complete();
}

std::optional<Parsed> CommandParser::Complete() {
  const std::vector<Word> numbers = std::move(numbers_);
  Restart();
  const Word word = numbers.front();
  if (word < 0)
    return Command(SetLayer{static_cast<std::size_t>(-word), {numbers.begin() + 1, numbers.end()}});
  if (word > 0) {
    Compute compute;
    for (std::size_t at = 1; at < numbers.size(); at += 3) compute.inputs.push_back(InputsAt(numbers, at));
    return Command(std::move(compute));
  }
  Retrain retrain;
  for (std::size_t at = 2; at < numbers.size(); at += kSampleNumbers) {
    retrain.samples.push_back({InputsAt(numbers, at), {numbers[at + 3], numbers[at + 4]}});
  }
  return Command(std::move(retrain));
}

Fault CommandParser::Refuse(FaultKind kind, std::string what) {
  Fault fault{kind, numbers_.size(), std::move(what)};
  Restart();
  ignoring_ = true;
  return fault;
}

void CommandParser::Restart() {
  number_.clear();
  numbers_ = {};
  expected_ = 1;
  ignoring_ = false;
  line_is_empty_ = false;
}

}  // namespace tributary::serial
