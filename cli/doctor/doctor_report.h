// What `tributary doctor` found, line by line.
#pragma once

#include <string>
#include <vector>

namespace tributary::cli {

enum class Finding { kOk, kWarning, kFault };

struct DoctorLine {
  std::string check;
  Finding finding = Finding::kOk;
  std::string found;
  std::string remedy;  // empty if there is nothing to do
};

struct DoctorReport {
  std::vector<DoctorLine> lines;

  bool has_fault() const;
  // One line per check, its remedy indented below it.
  std::string Text() const;
  // {"ok": bool, "checks": [{"check", "finding", "found", "remedy"}]}.
  std::string Json() const;
};

}  // namespace tributary::cli
