#include "node/checks/machine_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/own_folder.h"

namespace tributary::checks {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint64_t kMib = 1 << 20;

TEST(MachineChecksTest, JudgesTheKernelsDiscipline) {
  EXPECT_EQ(JudgeSynchronisation(true, 20, estimate::SlotLength()).finding, Finding::kOk);
  EXPECT_EQ(JudgeSynchronisation(true, 300, estimate::SlotLength()).finding, Finding::kWarning);
  EXPECT_EQ(JudgeSynchronisation(true, 300, *estimate::SlotLength::FromMs(10)).finding, Finding::kOk);
  EXPECT_EQ(JudgeSynchronisation(false, 0, estimate::SlotLength()).finding, Finding::kWarning);
}

TEST(MachineChecksTest, JudgesTheDisk) {
  EXPECT_EQ(JudgeDisk("/data", 255 * kMib).finding, Finding::kFault);
  EXPECT_EQ(JudgeDisk("/data", 256 * kMib).finding, Finding::kWarning);
  EXPECT_EQ(JudgeDisk("/data", 1024 * kMib).finding, Finding::kOk);
  EXPECT_THAT(JudgeDisk("/data", 300 * kMib).found, HasSubstr("300 MiB free in /data"));
  const CheckLine missing = CheckDisk(OwnFolder() + "/missing");
  EXPECT_EQ(missing.finding, Finding::kFault);
  EXPECT_THAT(missing.found, HasSubstr("/missing: No such file"));
}

TEST(MachineChecksTest, JudgesTheMemory) {
  EXPECT_EQ(JudgeMemory(15 * kMib).finding, Finding::kFault);
  EXPECT_EQ(JudgeMemory(16 * kMib).finding, Finding::kWarning);
  EXPECT_EQ(JudgeMemory(64 * kMib).finding, Finding::kOk);
  EXPECT_NE(CheckMemory().finding, Finding::kFault) << "this machine runs the test";
}

TEST(MachineChecksTest, ReadsWhatTheKernelSaysOfMemory) {
  const std::string path = OwnFolder() + "/meminfo";
  std::ofstream(path) << "MemTotal:       8000 kB\nCmaFree:  12 kB\nOdd: x kB\nBytes: 5\n"
                         "Huge: 99999999999999999999 kB\nLarge: 18446744073709551615 kB\nEmpty:\n";
  EXPECT_EQ(MeminfoBytes("CmaFree", path), 12 * 1024u);
  for (const char* key : {"Cma", "Odd", "Bytes", "Huge", "Large", "Empty", "Missing"}) {
    EXPECT_EQ(MeminfoBytes(key, path), std::nullopt) << key;
  }
  EXPECT_EQ(MeminfoBytes("CmaFree", path + "-missing"), std::nullopt);
  EXPECT_TRUE(MeminfoBytes("MemAvailable").has_value());
}

TEST(MachineChecksTest, LooksForTheDeviceNodeOfABoard) {
  const std::string folder = OwnFolder() + "/dri";
  EXPECT_THAT(CheckDeviceNode(folder).found, HasSubstr("there is no " + folder + "/renderD*"));
  std::filesystem::create_directory(folder);
  std::ofstream(folder + "/card0") << "";
  EXPECT_EQ(CheckDeviceNode(folder).finding, Finding::kFault);
  std::ofstream(folder + "/renderD128") << "";
  const CheckLine found = CheckDeviceNode(folder);
  EXPECT_EQ(found.finding, Finding::kOk);
  EXPECT_THAT(found.found, HasSubstr("renderD128 can be opened"));
}

TEST(MachineChecksTest, JudgesCertificatesThatExpire) {
  constexpr std::int64_t kDay = 86'400, kNow = 1'700'000'000;
  EXPECT_EQ(JudgeExpiry(kNow + 31 * kDay, kNow + 3000 * kDay, kNow, false).finding, Finding::kOk);
  const CheckLine soon = JudgeExpiry(kNow + 12 * kDay, kNow + 3000 * kDay, kNow, false);
  EXPECT_EQ(soon.finding, Finding::kWarning);
  EXPECT_THAT(soon.found,
              AllOf(HasSubstr("the node's certificate expires in 12 days"), Not(HasSubstr("CA"))));
  EXPECT_THAT(soon.remedy, HasSubstr("tributary certs"));
  EXPECT_THAT(JudgeExpiry(kNow + 12 * kDay, kNow + 3000 * kDay, kNow, true).remedy, HasSubstr("renews it"));
  const CheckLine both = JudgeExpiry(kNow + 12 * kDay, kNow, kNow, true);
  EXPECT_EQ(both.finding, Finding::kFault);
  EXPECT_THAT(both.found, HasSubstr("; the CA expired on 2023-11-14"));
  EXPECT_THAT(both.remedy, HasSubstr("tributary certs"));
}

TEST(MachineChecksTest, FindsACertificateThatCannotBeReplaced) {
  EXPECT_EQ(CheckRenewal(OwnFolder() + "/node.pem").finding, Finding::kOk);
  EXPECT_EQ(CheckRenewal(OwnFolder() + "/missing/node.pem").finding, Finding::kFault);
}

}  // namespace
}  // namespace tributary::checks
