#include "core/config/config_text.h"

#include <fmt/ranges.h>

#include <vector>

namespace tributary::config {
namespace {

// The text "a", 5, a table.
std::string Found(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::string:
      return fmt::format("the text \"{}\"", node.value_or(std::string_view{}));
    case toml::node_type::integer:
      return fmt::format("{}", *node.value<std::int64_t>());
    case toml::node_type::floating_point:
      return fmt::format("{}", *node.value<double>());
    case toml::node_type::boolean:
      return fmt::format("{}", *node.value<bool>());
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "an array";
    default:
      return "a date or time";
  }
}

std::string RealToml(double value) {
  const std::string text = fmt::format("{}", value);
  return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
}

}  // namespace

std::string Expected(std::string_view what, const toml::node& node) {
  return fmt::format("expected {}, found {}", what, Found(node));
}

std::string TextToml(std::string_view text) { return fmt::format("\"{}\"", text); }

std::string AsToml(const toml::node& node, std::string_view type) {
  if (const auto text = node.value_exact<std::string>()) return TextToml(*text);
  if (type == kNumber && node.is_number()) return RealToml(*node.value<double>());
  if (!node.is_array()) return Found(node);
  std::vector<std::string> elements;
  for (const toml::node& element : *node.as_array()) elements.push_back(AsToml(element, ""));
  return fmt::format("[{}]", fmt::join(elements, ", "));
}

}  // namespace tributary::config
