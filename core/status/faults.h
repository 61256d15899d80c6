// Collects everything that is wrong with settings, so that one answer names it all.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tributary {

struct Fault {
  std::string key;  // empty: the settings as a whole
  std::string what;
};

class Faults {
 public:
  void Check(bool good, std::string_view key, std::string_view what) {
    if (!good) found_.push_back({std::string(key), std::string(what)});
  }
  auto begin() const { return found_.begin(); }
  auto end() const { return found_.end(); }

  // InvalidArgument, naming every fault; OK if there is none.
  absl::Status Result() const {
    if (found_.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrJoin(found_, "; ", [](std::string* text, const Fault& fault) {
      absl::StrAppend(text, fault.key, fault.key.empty() ? "" : ": ", fault.what);
    }));
  }

 private:
  std::vector<Fault> found_;
};

}  // namespace tributary
