#include "core/runtime/memory_limit.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/own_folder.h"

namespace tributary::runtime {
namespace {

class MemoryLimitTest : public ::testing::Test {
 protected:
  ~MemoryLimitTest() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text << "\n";
  }

  const std::string root_ = OwnFolder() + "memory-limit";
  const MemorySources sources_ = {root_ + "/proc", root_ + "/cgroup"};
};

TEST_F(MemoryLimitTest, IsMemoryMaxOfTheUnit) {
  Write("/proc/cgroup", "0::/system.slice/tributary-node.service");
  Write("/cgroup/system.slice/tributary-node.service/memory.max", "536870912");
  Write("/cgroup/system.slice/memory.max", "max");
  EXPECT_EQ(MemoryLimit(sources_), 536'870'912u);
}

TEST_F(MemoryLimitTest, IsThatOfAGroupAboveIfItIsSmaller) {
  Write("/proc/cgroup", "0::/system.slice/tributary-node.service");
  Write("/cgroup/system.slice/tributary-node.service/memory.max", "536870912");
  Write("/cgroup/system.slice/memory.max", "1048576");
  EXPECT_EQ(MemoryLimit(sources_), 1'048'576u);
}

TEST_F(MemoryLimitTest, KnowsTheFirstVersionOfControlGroups) {
  Write("/proc/cgroup", "9:cpu:/elsewhere\n4:memory:/box\n0::/");
  Write("/cgroup/memory/box/memory.limit_in_bytes", "2097152");
  EXPECT_EQ(MemoryLimit(sources_), 2'097'152u);
}

TEST_F(MemoryLimitTest, IsTheMachinesMemoryWhereNothingElseLimits) {
  const std::uint64_t machine = MemoryLimit(sources_);  // no files
  EXPECT_GT(machine, std::uint64_t{1} << 20);
  Write("/proc/cgroup", "0::/\nrubbish");
  Write("/cgroup/memory.max", "max");
  EXPECT_EQ(MemoryLimit(sources_), machine);
}

TEST_F(MemoryLimitTest, WhatIsLeftIsTheLimitWithoutWhatIsUsed) {
  Write("/proc/cgroup", "0::/unit");
  Write("/cgroup/unit/memory.max", "1073741824");
  Write("/proc/statm", "100 3 0 0 0 0 0");
  const std::uint64_t used = ResidentBytes(sources_);
  EXPECT_EQ(used % 3, 0u);
  EXPECT_EQ(FreeMemory(sources_), 1'073'741'824u - used);
  Write("/cgroup/unit/memory.max", "4096");
  EXPECT_EQ(FreeMemory(sources_), 0u);
}

TEST_F(MemoryLimitTest, WhatIsInMemoryIsReadAnewEachTime) {
  Write("/proc/statm", "100 3 0 0 0 0 0");
  const ResidentMemory resident(sources_);
  const std::uint64_t before = resident.Bytes();
  EXPECT_EQ(before, ResidentBytes(sources_));
  Write("/proc/statm", "1000 12 0 0 0 0 0");
  EXPECT_EQ(resident.Bytes(), 4 * before);
  Write("/proc/statm", "1000");
  EXPECT_EQ(resident.Bytes(), 0u);
  EXPECT_EQ(ResidentBytes({root_ + "/nowhere", ""}), 0u);
  EXPECT_GT(ResidentMemory().Bytes(), std::uint64_t{1} << 20);
}

}  // namespace
}  // namespace tributary::runtime
