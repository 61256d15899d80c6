#include "core/http/http_routes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

namespace tributary::http {
namespace {

// What of the path stands in the hole; nothing: the path does not match.
std::optional<std::string_view> InHole(std::string_view path, std::string_view before,
                                       std::string_view after) {
  if (path.size() < before.size() + after.size()) return std::nullopt;
  if (!path.starts_with(before) || !path.ends_with(after)) return std::nullopt;
  return path.substr(before.size(), path.size() - before.size() - after.size());
}

}  // namespace

void HttpRoutes::Add(HttpRoute route) {
  Entry entry{std::move(route), "", "", ""};
  const std::string& pattern = entry.route.pattern;
  entry.name = fmt::format("{} {}", MethodName(entry.route.method), pattern);
  const std::size_t open = pattern.find('{');
  const std::size_t close = pattern.find('}', open == std::string::npos ? 0 : open);
  entry.hole = close != std::string::npos || (pattern.size() > 1 && pattern.ends_with('/'));
  entry.before = pattern.substr(0, open);
  if (close != std::string::npos) entry.after = pattern.substr(close + 1);
  const auto key = [](const Entry& each) { return std::tie(each.route.pattern, each.name); };
  const auto place =
      std::ranges::find_if(entries_, [&](const Entry& each) { return !(key(each) < key(entry)); });
  if (place != entries_.end() && place->name == entry.name) {
    *place = std::move(entry);
  } else {
    entries_.insert(place, std::move(entry));
  }
}

HttpRoutes::Match HttpRoutes::Find(HttpMethod method, std::string_view path) const {
  Match match;
  std::size_t longest = 0;
  for (const Entry& each : entries_) {
    std::optional<std::string_view> rest;
    if (each.hole) {
      rest = InHole(path, each.before, each.after);
    } else if (path == each.before) {
      rest = "";
    }
    if (!rest) continue;
    match.allowed.emplace(MethodName(each.route.method));
    if (each.route.method == HttpMethod::kGet) match.allowed.emplace("HEAD");
    const std::size_t fixed = path.size() - rest->size();
    // An exact path wins over a hole that happens to be empty.
    if (each.route.method != method || (match.route != nullptr && fixed <= longest && each.hole)) continue;
    longest = fixed;
    match.route = &each.route;
    match.name = each.name;
    match.rest = *rest;
  }
  return match;
}

std::vector<std::string> HttpRoutes::Names() const {
  std::vector<std::string> names;
  for (const Entry& each : entries_) names.push_back(each.name);
  return names;
}

std::string HttpRoutes::Paths() const {
  std::vector<std::string> paths;
  for (const Entry& each : entries_) {
    const std::string& pattern = each.route.pattern;
    std::string path = pattern.ends_with('/') && pattern.size() > 1 ? pattern + "NAME" : pattern;
    if (std::ranges::count(paths, path) == 0) paths.push_back(std::move(path));
  }
  return fmt::format("{}", fmt::join(paths, ", "));
}

}  // namespace tributary::http
