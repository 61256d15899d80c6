// `tributary doctor` on a good board finds no fault, and gives each fault of a board its own diagnosis.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "fpga/device/xclbin/xclbin_writer.h"
#include "fpga/model/kernel_interface.h"
#include "tests/support/fleet.h"

namespace tributary::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kFaultFound = 69;

class XrtDoctorTest : public ::testing::Test {
 protected:
  struct Diagnosis {
    int exit_code = -1;
    nlohmann::json report;

    nlohmann::json Line(const std::string& check) const {
      for (const nlohmann::json& line : report["checks"]) {
        if (line["check"] == check) return line;
      }
      return {{"finding", "absent"}, {"found", ""}, {"remedy", ""}};
    }
    std::vector<std::string> Faults() const {
      std::vector<std::string> faults;
      for (const nlohmann::json& line : report["checks"]) {
        if (line["finding"] == "fault") faults.push_back(line["check"]);
      }
      return faults;
    }
  };

  void SetUp() override { ::setenv("XILINX_XRT", TRIBUTARY_XRT_ROOT, 1); }
  void TearDown() override { ::unsetenv("TRIBUTARY_DEVICE_FAULTS"); }

  std::string Xclbin(const std::string& kernel) const {
    return folder_.Write(kernel + ".xclbin", device::WriteXclbin({.kernels = {{kernel, 1}}}).value());
  }

  Diagnosis Doctor(const std::string& faults, const std::string& arguments) const {
    ::setenv("TRIBUTARY_DEVICE_FAULTS", faults.c_str(), 1);
    const std::string command = std::string(TRIBUTARY_BIN_DIR) + "/tributary doctor --json " + arguments;
    FILE* pipe = ::popen(command.c_str(), "r");
    std::string text;
    std::array<char, 4096> chunk;
    for (std::size_t n; (n = std::fread(chunk.data(), 1, chunk.size(), pipe)) > 0;)
      text.append(chunk.data(), n);
    Diagnosis diagnosis;
    diagnosis.exit_code = WEXITSTATUS(::pclose(pipe));
    diagnosis.report = nlohmann::json::parse(text, nullptr, false);
    EXPECT_FALSE(diagnosis.report.is_discarded()) << text;
    return diagnosis;
  }

  ScratchFolder folder_;
};

TEST_F(XrtDoctorTest, FindsNoFaultOnAGoodBoardWithAnyKernel) {
  AggregatorProcess aggregator(folder_, "aggregator", {"south"});
  aggregator.Start();
  ASSERT_TRUE(aggregator.Ready()) << aggregator.process().Log();
  for (const fpga::KernelProbe& probe : fpga::kKernelProbes) {
    const std::string kernel(probe.kernel);
    const Diagnosis diagnosis = Doctor("", "--xclbin " + Xclbin(kernel) + " --aggregator 127.0.0.1:" +
                                               std::to_string(aggregator.ingest_port()));
    EXPECT_EQ(diagnosis.exit_code, 0) << diagnosis.report;
    for (const char* check : {"xrt", "device", "cma", "xclbin", "load", "memory", "interrupt", "transfer"})
      EXPECT_EQ(diagnosis.Line(check)["finding"], "ok") << kernel << ": " << diagnosis.Line(check);
    // The same clock on both sides; its stated accuracy depends on the load of this machine.
    EXPECT_NE(diagnosis.Line("clock offset")["finding"], "fault") << diagnosis.Line("clock offset");
    EXPECT_THAT(std::string(diagnosis.Line("clock offset")["found"]),
                ::testing::AnyOf(HasSubstr("us ahead, +/-"), HasSubstr("us behind, +/-")));
  }
}

TEST_F(XrtDoctorTest, TriesTheBoardOfANodeThatOnlyLearns) {
  const std::string node = folder_.Write(
      "node.toml",
      "node = \"b1\"\n[uplink]\naggregator = \"127.0.0.1:1\"\n[federation]\nimages = \"glyphs\"\n"
      "glyphs = 20\naccelerator = \"xrt\"\nxclbin = \"" +
          Xclbin("tensor_kernel") + "\"\n");
  const Diagnosis diagnosis = Doctor("", "--config " + node);
  EXPECT_EQ(diagnosis.Line("xclbin")["finding"], "ok") << diagnosis.report;
  EXPECT_EQ(diagnosis.Line("transfer")["finding"], "ok") << diagnosis.report;
}

TEST_F(XrtDoctorTest, SaysWhenTheAggregatorCannotBeAsked) {
  const Diagnosis diagnosis = Doctor("", "--aggregator 127.0.0.1:1 --xclbin " + Xclbin("loopback_kernel"));
  EXPECT_EQ(diagnosis.exit_code, kFaultFound);
  EXPECT_EQ(diagnosis.Faults(), std::vector<std::string>{"aggregator"}) << diagnosis.report;
}

TEST_F(XrtDoctorTest, SaysWhenThereIsNoDriverLibrary) {
  ::setenv("XILINX_XRT", "/nonexistent", 1);
  const Diagnosis diagnosis = Doctor("", "--xclbin " + Xclbin("loopback_kernel"));
  EXPECT_EQ(diagnosis.exit_code, kFaultFound);
  EXPECT_EQ(diagnosis.Line("xrt")["finding"], "fault");
  EXPECT_THAT(std::string(diagnosis.Line("xrt")["remedy"]), HasSubstr("XILINX_XRT"));
}

struct Ailment {
  const char* name;
  const char* faults;
  const char* arguments;
  const char* check;  // the one that is at fault
  const char* found;
  const char* remedy;
};
void PrintTo(const Ailment& shown, std::ostream* out) { *out << shown.name; }

class XrtAilmentTest : public XrtDoctorTest, public ::testing::WithParamInterface<Ailment> {};

TEST_P(XrtAilmentTest, HasADiagnosisOfItsOwnAndARemedy) {
  const Diagnosis diagnosis = Doctor(
      GetParam().faults, std::string(GetParam().arguments) + " --xclbin " + Xclbin("positioning_kernel"));
  EXPECT_EQ(diagnosis.exit_code, kFaultFound);
  EXPECT_EQ(diagnosis.Faults(), std::vector<std::string>{GetParam().check}) << diagnosis.report;
  const nlohmann::json line = diagnosis.Line(GetParam().check);
  EXPECT_THAT(std::string(line["found"]), HasSubstr(GetParam().found));
  EXPECT_THAT(std::string(line["remedy"]), HasSubstr(GetParam().remedy));
}

INSTANTIATE_TEST_SUITE_P(
    Boards, XrtAilmentTest,
    ::testing::Values(
        Ailment{"NoDevice", "no_device", "", "device", "No such board", "zocl"},
        Ailment{"NoPermission", "no_permission", "", "device", "cannot open the device node", "usermod"},
        Ailment{"AnotherXclbin", "wrong_uuid", "", "load", "another UUID", "stop the node"},
        Ailment{"TooLittleMemory", "memory_bytes=65536", "", "memory", "exhausted", "cma="},
        Ailment{"NoInterrupts", "slow_interrupt", "", "interrupt", "an empty run takes 5",
                "interrupt controller"},
        Ailment{"HangsAtOnce", "hang=1", "", "run", "an empty run did not end", "Power the board off"},
        Ailment{"HangsWithData", "hang=21", "", "transfer", "one frame did not end", "Power the board off"},
        Ailment{"CannotRead", "read_error=1", "", "transfer", "could not read", "memory bank"},
        Ailment{"CannotWrite", "write_error=1", "", "write", "did not arrive in memory", "memory bank"},
        Ailment{"Disappears", "disappear=2", "", "run", "No such board", "reboot"},
        Ailment{"DiskFull", "", "--data /proc", "disk", "0 MiB free", "Free at least"}),
    ::testing::PrintToStringParamName());

}  // namespace
}  // namespace tributary::testing
