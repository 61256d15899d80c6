// Daemons in processes of their own, for tests that kill them.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace tributary::testing {

// A child process; its standard error goes to a log file. The destructor kills it.
class Process {
 public:
  // Starts `program`, an absolute path or one in TRIBUTARY_BIN_DIR. Throws std::runtime_error if it cannot be
  // started.
  Process(const std::string& program, std::vector<std::string> arguments, std::string log_path);
  ~Process();
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;

  pid_t pid() const { return pid_; }
  void Signal(int number) const;
  // Waits for the end and returns the exit code, or 128 + the signal that ended it; -1 after `limit`.
  int Wait(std::chrono::milliseconds limit);
  bool Running();
  std::string Log() const;

 private:
  pid_t pid_ = -1;
  int exit_code_ = -1;
  std::string log_path_;
};

// A folder that is removed with this object.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string Path(const std::string& name) const { return path_ + "/" + name; }
  // Writes a file and returns its path.
  std::string Write(const std::string& name, const std::string& content) const;

 private:
  std::string path_;
};

// The content of a file; empty if there is none.
std::string ReadText(const std::string& path);

// A port of the loopback for this process alone, so that a daemon can be killed and started again on it. It
// lies below the range of outgoing connections, and no other test process gets it meanwhile.
int ReservePort();

// Polls until the condition holds or `limit` has passed; returns the last answer.
bool WaitFor(const std::function<bool()>& condition,
             std::chrono::milliseconds limit = std::chrono::seconds(20));

// The body of an HTTP GET on the loopback; empty if it fails or the status is not 200.
std::string HttpGet(int port, const std::string& target);

// The value of a metric line `name` (with its labels, as printed) in the text exposition; NaN if absent.
double MetricValue(const std::string& text, const std::string& name);

}  // namespace tributary::testing
