// Functional coverage: counts the cases that a bench must exercise. A missing case fails the test.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "gtest/gtest.h"

namespace tributary::fpga {

// The counters of one test. The destructor, which runs within the test, checks every point.
class Coverage {
 public:
  Coverage() = default;
  Coverage(const Coverage&) = delete;
  Coverage& operator=(const Coverage&) = delete;

  // Returns the counter of a point, to keep and increment; it must reach minimum.
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
