// Values and limits of a configuration as text: for messages, and as TOML.
#pragma once

#include <toml++/toml.h>

#include <string>
#include <string_view>

#include "core/config/config.h"

namespace tributary::config {

inline constexpr std::string_view kNumber = "number";

// For messages: "expected an integer, found "a"".
std::string Expected(std::string_view what, const toml::node& node);

// "1 to 9", "at least 1", "above 0, below 1"; empty where everything is admitted.
std::string Bounds(const IntegerLimits& limits);
std::string Bounds(const RealLimits& limits);

// A value as the reader of `type` (ConfigKey) takes it: 5 is 5.0 where a number is asked for.
std::string AsToml(const toml::node& node, std::string_view type);

}  // namespace tributary::config
