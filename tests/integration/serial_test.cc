// The serial line: a program of somebody else's as master, the commands of `tributary serial`, and a node as
// board.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/nn/beacon/beacon_network.h"
#include "core/runtime/pseudo_terminal.h"
#include "fpga/model/beacon_model.h"
#include "tests/support/any_beacon.h"
#include "tests/support/process.h"

namespace tributary::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::chrono::seconds kSerialLimit{60};

class SerialLineTest : public ::testing::Test {
 protected:
  // A board of `tributary serial serve`, at a pseudo-terminal of its own.
  void Serve() {
    const std::string command = fmt::format("exec {}/tributary serial serve --model {} --json >{}",
                                            TRIBUTARY_BIN_DIR, model_, folder_.Path("counts"));
    board_ = std::make_unique<Process>("/bin/sh", std::vector<std::string>{"-c", command},
                                       folder_.Path("board.log"));
    const std::string said = "listens at ";
    ASSERT_TRUE(WaitFor(
        [&] { return board_->Log().find(said) != std::string::npos && board_->Log().ends_with("\n"); }));
    const std::string log = board_->Log();
    device_ = log.substr(log.find(said) + said.size());
    device_.pop_back();
  }
  nlohmann::json Counts() {
    board_->Signal(SIGTERM);
    EXPECT_EQ(board_->Wait(kSerialLimit), 0) << board_->Log();
    return nlohmann::json::parse(ReadText(folder_.Path("counts")));
  }
  // The standard error of a command that should end with `status`.
  std::string Say(std::vector<std::string> arguments, int status = 0) {
    Process command("tributary", std::move(arguments), folder_.Path("command.log"));
    EXPECT_EQ(command.Wait(kSerialLimit), status) << command.Log();
    return command.Log();
  }

  ScratchFolder folder_;
  const std::string model_ = folder_.Write("beacon.safetensors", nn::EncodeBeacon(AnyBeacon()));
  std::unique_ptr<Process> board_;
  std::string device_;
};

TEST_F(SerialLineTest, AProgramInPythonWithPyserialIsItsMaster) {
  Process has("/usr/bin/python3", {"-c", "import serial"}, folder_.Path("has.log"));
  if (has.Wait(kSerialLimit) != 0) GTEST_SKIP() << "apt install python3-serial";
  Serve();
  Process master("/usr/bin/python3", {TRIBUTARY_SOURCE_DIR "/tests/serial/master.py", device_},
                 folder_.Path("master.log"));
  EXPECT_EQ(master.Wait(kSerialLimit), 0) << master.Log();
  const nlohmann::json counts = Counts();
  EXPECT_EQ(counts["weight_updates"], 3);
  EXPECT_EQ(counts["retrainings"], 1);
  EXPECT_EQ(counts["computed_inputs"], 3);
  EXPECT_EQ(counts["out_of_range"], 1);
}

TEST_F(SerialLineTest, TheCommandsAreAMaster) {
  Serve();
  Say({"serial", "version", "--port", device_});
  Say({"serial", "weights", "--port", device_, "--model", model_});
  Say({"serial", "compute", "--port", device_, "12,-40,1023", "0,0,0"});
  EXPECT_THAT(Say({"serial", "compute", "--port", device_, "1,2,5000"}, 65),
              HasSubstr("the board refused the command at number 3: a value is 5000"));
  EXPECT_THAT(Say({"serial", "compute", "--port", device_, "1,2"}, 64), HasSubstr("expected three integers"));
  EXPECT_THAT(Say({"serial", "version", "--port", folder_.Path("nothing")}, 66), HasSubstr("No such file"));
  const nlohmann::json counts = Counts();
  EXPECT_EQ(counts["computed_inputs"], 2);
  EXPECT_EQ(counts["weight_updates"], 2);
}

TEST_F(SerialLineTest, ANodeIsABoardWhoseComputationsAreTuples) {
  const runtime::PseudoTerminal line = *runtime::OpenPseudoTerminal();
  const int http = ReservePort();
  const std::string config = folder_.Write(
      "node.toml",
      fmt::format("node = \"south\"\nsite = \"hall\"\n[uplink]\ndrain_s = 0.0\n[http]\nlisten = "
                  "\"127.0.0.1:{}\"\n[[panel]]\nname = \"south\"\nworkload = \"beacon\"\nmodel = \"{}\"\n"
                  "[panel.source]\nkind = \"serial\"\ndevice = \"{}\"\n",
                  http, model_, line.path));
  Process node("tributary-node", {"--config", config}, folder_.Path("node.log"));
  const auto metric = [http](const std::string& name) {
    return MetricValue(HttpGet(http, "/metrics"), name);
  };
  ASSERT_TRUE(WaitFor([&] { return node.Log().find("is a beacon board at") != std::string::npos; }))
      << node.Log();
  const std::string asked = "2\n512,-256,0\n100,200,-1024\n1\n1,2,5000\n";
  ASSERT_EQ(write(line.master.get(), asked.data(), asked.size()), static_cast<ssize_t>(asked.size()));
  std::string said;
  for (char byte = 0; said.find("error") == std::string::npos || byte != '\n';) {
    ASSERT_EQ(read(line.master.get(), &byte, 1), 1);
    said += byte;
  }
  const fpga::BeaconModel model(AnyBeacon());
  const auto first = model.Run({512, -256, 0}), second = model.Run({100, 200, -1024});
  EXPECT_EQ(said, fmt::format("{},{}\n{},{}\nerror 3 a value is 5000, it must be from -1024 to 1023\n",
                              first[0], first[1], second[0], second[1]));
  EXPECT_TRUE(WaitFor([&] { return metric("tributary_panel_tuples_total{panel=\"south\"}") == 2; }))
      << node.Log();
  EXPECT_EQ(metric("tributary_serial_inputs_total{panel=\"south\"}"), 2);
  EXPECT_EQ(metric("tributary_serial_refused_commands_total{panel=\"south\",reason=\"out_of_range\"}"), 1);
  node.Signal(SIGTERM);
  EXPECT_EQ(node.Wait(kSerialLimit), 0) << node.Log();
}

}  // namespace
}  // namespace tributary::testing
