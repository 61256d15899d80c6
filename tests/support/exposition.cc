#include "tests/support/exposition.h"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace tributary::testing {
namespace {

bool EndsWith(std::string_view text, std::string_view end) { return text.ends_with(end); }

// "a=\"x\",b=\"y\"": no value of ours has a quote or a comma in it.
std::vector<std::string> Split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) parts.push_back(part);
  return parts;
}

// "reason", " reason=~\"late\"" or "reason!=\"late\"", as prose and queries have them.
std::string LabelOf(std::string_view matcher) {
  matcher.remove_prefix(std::min(matcher.find_first_not_of(' '), matcher.size()));
  return std::string(matcher.substr(0, matcher.find_first_of("=!")));
}

// The family that a series belongs to.
std::string FamilyOf(std::string series, const Exposition& families) {
  for (const std::string_view end : {"_bucket", "_sum", "_count"}) {
    if (!EndsWith(series, end)) continue;
    const std::string base = series.substr(0, series.size() - end.size());
    if (families.contains(base)) return base;
  }
  return series;
}

bool IsNamePart(char c) {
  return std::islower(static_cast<unsigned char>(c)) || std::isdigit(static_cast<unsigned char>(c)) ||
         c == '_';
}

}  // namespace

Exposition ParseExposition(std::string_view text, std::vector<std::string>& faults) {
  Exposition families;
  std::set<std::string> seen;
  std::stringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::stringstream words(line);
    std::string first, kind, name;
    words >> first;
    if (first == "#") {
      words >> kind >> name;
      std::string rest;
      std::getline(words >> std::ws, rest);
      (kind == "HELP" ? families[name].help : families[name].type) = rest;
      continue;
    }
    if (first.empty()) continue;
    const std::string series = line.substr(0, line.rfind(' '));
    if (!seen.insert(series).second) faults.push_back("twice: " + series);
    const std::size_t brace = series.find('{');
    ExposedMetric& family = families[FamilyOf(series.substr(0, brace), families)];
    if (brace == std::string::npos) continue;
    for (const std::string& label : Split(series.substr(brace + 1, series.size() - brace - 2), ',')) {
      const std::size_t equals = label.find('=');
      const std::string key = label.substr(0, equals);
      if (key != "le") family.labels[key].insert(label.substr(equals + 2, label.size() - equals - 3));
    }
  }
  return families;
}

std::vector<NamedMetric> FindMetricNames(std::string_view text) {
  constexpr std::string_view kStart = "tributary_";
  constexpr std::string_view kOfBuild = "--target ";  // whose name follows is no metric
  std::vector<NamedMetric> found;
  for (std::size_t at = text.find(kStart); at != std::string_view::npos; at = text.find(kStart, at)) {
    if (text.substr(0, at).ends_with(kOfBuild)) {
      at += kStart.size();
      continue;
    }
    std::vector<NamedMetric> names = {{}};
    while (at < text.size()) {
      if (IsNamePart(text[at])) {
        for (NamedMetric& each : names) each.name += text[at];
        ++at;
        continue;
      }
      const std::size_t close = text[at] == '{' ? text.find('}', at) : std::string_view::npos;
      if (close == std::string_view::npos) break;
      const std::vector<std::string> parts = Split(std::string(text.substr(at + 1, close - at - 1)), ',');
      at = close + 1;
      const bool choice = EndsWith(names.front().name, "_") || (at < text.size() && IsNamePart(text[at]));
      if (!choice) {
        for (NamedMetric& each : names) {
          for (const std::string& part : parts) each.labels.push_back(LabelOf(part));
        }
        break;
      }
      std::vector<NamedMetric> all;
      for (const NamedMetric& each : names) {
        for (const std::string& part : parts) all.push_back({each.name + part, {}});
      }
      names = std::move(all);
    }
    found.insert(found.end(), names.begin(), names.end());
  }
  return found;
}

}  // namespace tributary::testing
