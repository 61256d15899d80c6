// What was checked of a machine that runs a node, and what was found.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tributary::checks {

enum class Finding { kOk, kWarning, kFault };

struct CheckLine {
  std::string check;
  Finding finding = Finding::kOk;
  std::string found;
  std::string remedy = {};  // empty if there is nothing to do
};

struct CheckReport {
  std::vector<CheckLine> lines;

  void Ok(std::string check, std::string found) {
    lines.push_back({std::move(check), Finding::kOk, std::move(found)});
  }
  void Warning(std::string check, std::string found, std::string remedy) {
    lines.push_back({std::move(check), Finding::kWarning, std::move(found), std::move(remedy)});
  }
  void Fault(std::string check, std::string found, std::string remedy) {
    lines.push_back({std::move(check), Finding::kFault, std::move(found), std::move(remedy)});
  }

  bool has_fault() const;
  // One line per check, its remedy indented below it.
  std::string Text() const;
  // {"ok": bool, "checks": [{"check", "finding", "found", "remedy"}]}.
  std::string Json() const;
};

}  // namespace tributary::checks
