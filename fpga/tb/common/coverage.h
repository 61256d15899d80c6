// Functional coverage: what a bench claims to exercise, counted; a bench that did not is a failed test.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "gtest/gtest.h"

namespace tributary::fpga {

// The counters of one test. Every point is checked when the object is destroyed, within the test.
class Coverage {
 public:
  Coverage() = default;
  Coverage(const Coverage&) = delete;
  Coverage& operator=(const Coverage&) = delete;

  // The counter of a point, to keep and increment; it must reach minimum.
  std::uint64_t& Point(std::string_view name, std::uint64_t minimum = 1) {
    Entry& entry = points_[std::string(name)];
    entry.minimum = minimum;
    return entry.count;
  }

  ~Coverage() {
    EXPECT_FALSE(points_.empty()) << "a bench without a coverage point";
    for (const auto& [name, entry] : points_) {
      EXPECT_GE(entry.count, entry.minimum) << "not exercised enough: " << name;
    }
  }

 private:
  struct Entry {
    std::uint64_t count = 0;
    std::uint64_t minimum = 1;
  };
  std::map<std::string, Entry> points_;  // references to its elements stay valid
};

}  // namespace tributary::fpga
