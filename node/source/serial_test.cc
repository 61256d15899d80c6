#include "node/source/serial.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "core/runtime/pseudo_terminal.h"
#include "tests/support/own_folder.h"

namespace tributary::source {
namespace {

// Halves what it gets.
class HalvingBoard final : public serial::Board {
 public:
  absl::Status SetLayer(std::size_t, std::span<const serial::Word> weights) override {
    return weights[0] == 13 ? absl::InternalError("the board failed") : absl::OkStatus();
  }
  absl::Status Compute(std::span<const serial::Inputs> inputs, std::span<serial::Outputs> outputs) override {
    for (std::size_t i = 0; i < inputs.size(); ++i) outputs[i] = {inputs[i][0] / 2, inputs[i][1] / 2};
    return absl::OkStatus();
  }
  absl::StatusOr<serial::Retraining> Retrain(std::span<const serial::Sample>) override {
    return serial::Retraining{.epochs = 3, .error_before = 0.5, .error_after = 0.25, .taken = true};
  }
};

// The master's end of a pseudo-terminal, whose device the source has by a link.
class SerialSourceTest : public ::testing::Test {
 protected:
  SerialSourceTest() {
    std::filesystem::remove(link_);
    std::filesystem::create_symlink(terminal_->path, link_);
    network_->input_offset_m = {3, 4, 5};
    network_->input_gain_per_m = {0.5, 0.25, 0.125};
    auto source = CreateSerial({.panel = "north", .port = link_, .slot = {}},
                               std::make_unique<HalvingBoard>(), network_, clock_);
    EXPECT_TRUE(source.ok()) << source.status();
    source_ = *std::move(source);
    thread_ = std::jthread([this](const std::stop_token& stop) {
      SensorFrame frame;
      while (source_->Next(stop, frame).ok()) frames_.push_back(frame);
    });
  }
  ~SerialSourceTest() override { End(); }

  void End() {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
  }

  // Sends and reads as many lines.
  std::string Ask(const std::string& bytes, int lines) {
    EXPECT_EQ(write(terminal_->master.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    std::string said;
    for (char byte = 0; lines > 0 && read(terminal_->master.get(), &byte, 1) == 1;) {
      said += byte;
      lines -= byte == '\n';
    }
    return said;
  }

  const std::string link_ =
      OwnFolder() + "/tty." + ::testing::UnitTest::GetInstance()->current_test_info()->name();
  std::optional<runtime::PseudoTerminal> terminal_ = *runtime::OpenPseudoTerminal();
  std::shared_ptr<nn::BeaconNetwork> network_ = std::make_shared<nn::BeaconNetwork>();
  runtime::SystemClock clock_;
  std::unique_ptr<Source> source_;
  std::vector<SensorFrame> frames_;
  std::jthread thread_;
};

std::string Zeros(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += "0 ";
  return text + "\n";
}

TEST_F(SerialSourceTest, AnswersEveryCommandAndComputationsAreFrames) {
  EXPECT_EQ(Ask("1\n1024,2,3\n", 1), "error 1 a value is 1024, it must be from -1024 to 1023\n");
  EXPECT_EQ(Ask("\n\n2\n512,-256,0\n100,200,-1024\n", 2), "256,-128\n50,100\n");
  EXPECT_EQ(Ask("?", 1), "beacon 1\n");
  EXPECT_EQ(Ask("-1\n" + Zeros(40), 1), "ok\n");
  EXPECT_EQ(Ask("-2\n" + Zeros(22), 1), "ok\n");
  EXPECT_EQ(Ask("-2\n13 " + Zeros(21), 1), "error 0 the board failed\n");
  EXPECT_EQ(Ask("0\n1\n1,2,3,4,5\n", 1), "ok 3 0.50000 0.25000 taken\n");
  EXPECT_EQ(Ask("1\n0,0,0\n", 1), "0,0\n");
  EXPECT_EQ(Ask("3\n1,2", 1), "error 2 nothing for 1000 ms, 2 of 10 numbers are here\n")
      << "the last has no end yet";
  EXPECT_EQ(Ask("1\n2,2,2\n", 1), "1,1\n");
  End();

  ASSERT_EQ(frames_.size(), 3U);
  EXPECT_EQ(frames_[0].subjects, (std::vector<std::uint32_t>{1, 2}));
  // 512/1024 of ±2 m about 3 m, and so on.
  EXPECT_EQ(frames_[0].features, (std::vector<float>{4, 3, 5, 3 + 200.0f / 1024, 4 + 800.0f / 1024, -3}));
  EXPECT_EQ(frames_[1].features, (std::vector<float>{3, 4, 5}));
  EXPECT_EQ(frames_[2].epoch, estimate::SlotLength().EpochAt(frames_[2].captured_unix_ns));
  const SerialCounters counters = source_->serial_account()->counters();
  EXPECT_EQ(counters.session.computed_inputs, 4U);
  EXPECT_EQ(counters.session.weight_updates, 2U);
  EXPECT_EQ(counters.session.retrainings, 1U);
  EXPECT_EQ(counters.session.out_of_range, 1U);
  EXPECT_EQ(counters.session.refused, 1U);
  EXPECT_EQ(counters.session.timeouts, 1U);
}

TEST_F(SerialSourceTest, GoesOnWhenTheDeviceVanishesAndReturns) {
  EXPECT_EQ(Ask("1\n2,4,0\n", 1), "1,2\n");
  terminal_.reset();
  while (source_->serial_account()->counters().lost_lines == 0) std::this_thread::yield();
  terminal_ = *runtime::OpenPseudoTerminal();
  std::filesystem::remove(link_);
  std::filesystem::create_symlink(terminal_->path, link_);
  EXPECT_EQ(Ask("1\n6,8,0\n", 1), "3,4\n");
  End();
  EXPECT_EQ(frames_.size(), 2U);
}

TEST(SerialSourceFaultTest, SaysWhichDeviceCannotBeOpened) {
  const runtime::SystemClock clock;
  const auto source =
      CreateSerial({.panel = "north", .port = "/nonexistent/tty", .slot = {}},
                   std::make_unique<HalvingBoard>(), std::make_shared<nn::BeaconNetwork>(), clock);
  EXPECT_EQ(source.status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace tributary::source
