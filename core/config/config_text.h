// Values and limits of a configuration as text: for messages, and as TOML.
#pragma once

#include <fmt/format.h>
#include <toml++/toml.h>

#include <string>
#include <string_view>
#include <type_traits>

#include "core/config/config.h"

namespace tributary::config {

inline constexpr std::string_view kNumber = "number";

// For messages: "expected an integer, found the text "a"".
std::string Expected(std::string_view what, const toml::node& node);

// "1 to 9", "at least 1"; empty where everything is admitted.
template <typename T>
std::string Bounds(const Limits<T>& limits) {
  const Limits<T> none;
  if (limits.min == none.min && limits.max == none.max) return "";
  if (limits.max == none.max) return fmt::format("at least {}", limits.min);
  return fmt::format("{} to {}", limits.min, limits.max);
}

// The same with the type: "an integer from 1 to 9", "a number of at least 1", "a number".
template <typename T>
std::string Range(const Limits<T>& limits) {
  const std::string_view type = std::is_integral_v<T> ? "an integer" : "a number";
  const std::string bounds = Bounds(limits);
  if (bounds.empty()) return std::string(type);
  return fmt::format("{} {} {}", type, limits.max == Limits<T>().max ? "of" : "from", bounds);
}

std::string TextToml(std::string_view text);
// A value as the reader of `type` (ConfigKey) takes it: 5 is 5.0 where a number is asked for.
std::string AsToml(const toml::node& node, std::string_view type);

}  // namespace tributary::config
