// Values and limits of a configuration as text: for messages, and as TOML.
#pragma once

#include <toml++/toml.h>

#include <string>
#include <string_view>

#include "core/config/config.h"

namespace tributary::config {

inline constexpr std::string_view kNumber = "number";

// For messages: the text "a", 5, a table.
std::string Found(const toml::node& node);
std::string Expected(std::string_view what, const toml::node& node);

// "an integer from 1 to 9", and the same without the type: "1 to 9".
std::string Range(IntegerLimits limits);
std::string Range(RealLimits limits);
std::string Bounds(IntegerLimits limits);
std::string Bounds(RealLimits limits);

std::string TextToml(std::string_view text);
std::string RealToml(double value);
// A value as the reader of `type` (ConfigKey) takes it: 5 is 5.0 where a number is asked for.
std::string AsToml(const toml::node& node, std::string_view type);

}  // namespace tributary::config
