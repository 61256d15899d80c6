#include "core/config/config_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace tributary::config {
namespace {

// "a", 5, a table.
std::string Found(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::string:
      return fmt::format("\"{}\"", node.value_or(std::string_view{}));
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

template <typename T>
std::string BoundsOf(const Limits<T>& limits) {
  const Limits<T> none;
  const bool bounded = limits.max != none.max;
  if (limits.above_min) {
    std::string above = fmt::format("above {}", limits.min);
    if (!bounded) return above;
    return fmt::format("{}, {} {}", above, limits.below_max ? "below" : "at most", limits.max);
  }
  if (bounded) return fmt::format("{} to {}{}", limits.min, limits.below_max ? "below " : "", limits.max);
  return limits.min == none.min ? "" : fmt::format("at least {}", limits.min);
}

template <typename T>
std::string RangeOf(std::string_view type, const Limits<T>& limits) {
  const std::string bounds = BoundsOf(limits);
  if (bounds.empty()) return std::string(type);
  const std::string_view joint = limits.above_min ? "" : bounds.starts_with("at least") ? "of " : "from ";
  return fmt::format("{} {}{}", type, joint, bounds);
}

}  // namespace

std::string Bounds(const IntegerLimits& limits) { return BoundsOf(limits); }
std::string Bounds(const RealLimits& limits) { return BoundsOf(limits); }
std::string Range(const IntegerLimits& limits) { return RangeOf("an integer", limits); }
std::string Range(const RealLimits& limits) { return RangeOf("a number", limits); }

std::string Expected(std::string_view what, const toml::node& node) {
  return fmt::format("expected {}, found {}", what, Found(node));
}

std::string AsToml(const toml::node& node, std::string_view type) {
  if (type == kNumber && node.is_number()) return RealToml(*node.value<double>());
  if (!node.is_array()) return Found(node);
  std::vector<std::string> elements;
  for (const toml::node& element : *node.as_array()) elements.push_back(AsToml(element, ""));
  return fmt::format("[{}]", fmt::join(elements, ", "));
}

}  // namespace tributary::config
