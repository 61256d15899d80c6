#include "node/checks/check_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>

namespace tributary::checks {
namespace {

const char* NameOf(Finding finding) {
  constexpr std::array kNames = {"ok", "warning", "fault"};
  return kNames[static_cast<std::size_t>(finding)];
}

}  // namespace

bool CheckReport::has_fault() const {
  return std::ranges::any_of(lines, [](const CheckLine& line) { return line.finding == Finding::kFault; });
}

std::string CheckReport::Text() const {
  std::string text;
  for (const CheckLine& line : lines) {
    text += fmt::format("{:<8} {:<16} {}\n", NameOf(line.finding), line.check, line.found);
    if (!line.remedy.empty()) text += fmt::format("{:<26}→ {}\n", "", line.remedy);
  }
  return text;
}

std::string CheckReport::Json() const {
  nlohmann::json checks = nlohmann::json::array();
  for (const CheckLine& line : lines) {
    checks.push_back({{"check", line.check},
                      {"finding", NameOf(line.finding)},
                      {"found", line.found},
                      {"remedy", line.remedy}});
  }
  return nlohmann::json{{"ok", !has_fault()}, {"checks", std::move(checks)}}.dump(2) + "\n";
}

}  // namespace tributary::checks
