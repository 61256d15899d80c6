#include "core/runtime/serial_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <string>

#include "core/runtime/pseudo_terminal.h"

namespace tributary::runtime {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class SerialPortTest : public ::testing::Test {
 protected:
  std::unique_ptr<SerialPort> Open() {
    auto port = SerialPort::Open(terminal_.path, kSerialBaud);
    EXPECT_TRUE(port.ok()) << port.status();
    return *std::move(port);
  }
  void Send(const std::string& bytes) {
    ASSERT_EQ(write(terminal_.master.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }

  PseudoTerminal terminal_ = *OpenPseudoTerminal();
};

TEST_F(SerialPortTest, PassesBytesAsTheyAreBothWays) {
  const auto port = Open();
  const std::string bytes("\x00\x03\x04\x11\x13\r\n\x7f\xff", 9);  // what a terminal would take for itself
  Send(bytes);
  std::string got;
  while (got.size() < bytes.size()) got += port->Read(1000ms).value();
  EXPECT_EQ(got, bytes);
  ASSERT_TRUE(port->Write(bytes, 1000ms).ok());
  std::string back(bytes.size(), ' ');
  ASSERT_EQ(read(terminal_.master.get(), back.data(), back.size()), static_cast<ssize_t>(bytes.size()));
  EXPECT_EQ(back, bytes);
}

TEST_F(SerialPortTest, GivesNothingIfNothingComes) {
  const auto port = Open();
  EXPECT_EQ(port->Read(1ms).value(), "");
  Send("a");
  EXPECT_EQ(port->Read(1000ms).value(), "a") << "a time-out loses nothing";
}

TEST_F(SerialPortTest, SaysThatTheDeviceIsGone) {
  const auto port = Open();
  terminal_.master.Close();
  EXPECT_EQ(port->Read(1000ms).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(port->Write("a", 1000ms).code(), absl::StatusCode::kUnavailable);
}

TEST_F(SerialPortTest, DoesNotWaitForEverForALineThatTakesNothing) {
  const auto port = Open();
  EXPECT_EQ(port->Write(std::string(1 << 20, 'a'), 20ms).code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(SerialPortFaultTest, NamesWhatCannotBeOpened) {
  EXPECT_EQ(SerialPort::Open("/nonexistent/tty", kSerialBaud).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(SerialPort::Open("/dev/null", kSerialBaud).status().message()),
              HasSubstr("no serial line"));
  const PseudoTerminal terminal = *OpenPseudoTerminal();
  EXPECT_THAT(std::string(SerialPort::Open(terminal.path, 115'201).status().message()),
              HasSubstr("the baud rate 115201 is none of the system's"));
}

}  // namespace
}  // namespace tributary::runtime
