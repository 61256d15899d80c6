#include "cli/doctor/doctor_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tributary::cli {
namespace {

const char* NameOf(Finding finding) {
  switch (finding) {
    case Finding::kOk:
      return "ok";
    case Finding::kWarning:
      return "warning";
    case Finding::kFault:
      break;
  }
  return "fault";
}

}  // namespace

bool DoctorReport::has_fault() const {
  return std::ranges::any_of(lines, [](const DoctorLine& line) { return line.finding == Finding::kFault; });
}

std::string DoctorReport::Text() const {
  std::string text;
  for (const DoctorLine& line : lines) {
    text += fmt::format("{:<8} {:<16} {}\n", NameOf(line.finding), line.check, line.found);
    if (!line.remedy.empty()) text += fmt::format("{:<26}→ {}\n", "", line.remedy);
  }
  return text;
}

std::string DoctorReport::Json() const {
  nlohmann::json checks = nlohmann::json::array();
  for (const DoctorLine& line : lines) {
    checks.push_back({{"check", line.check},
                      {"finding", NameOf(line.finding)},
                      {"found", line.found},
                      {"remedy", line.remedy}});
  }
  return nlohmann::json{{"ok", !has_fault()}, {"checks", std::move(checks)}}.dump(2) + "\n";
}

}  // namespace tributary::cli
