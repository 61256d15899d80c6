// Nodes that learn, and their run, for tests with daemons.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/support/fleet.h"

namespace tributary::testing {

// A tributary-node with only [federation]: part `index` of `shards` of 120 drawn glyphs. It can be killed and
// started again.
class LearnerProcess {
 public:
  // `extra` is appended to its configuration.
  LearnerProcess(const ScratchFolder& folder, int index, int shards, int aggregator_port,
                 const std::string& extra = "");

  void Start();
  Process& process() { return *process_; }
  const std::string& summary_path() const { return summary_path_; }

 private:
  std::string name_;
  std::string config_path_;
  std::string summary_path_;
  std::string log_path_;
  std::unique_ptr<Process> process_;
};

// The aggregator's keys for a store in the scratch folder.
std::string FederationKeys(const ScratchFolder& folder);

// Runs a `tributary` command to its end; returns its exit code.
int RunCommand(const ScratchFolder& folder, const std::vector<std::string>& arguments);

}  // namespace tributary::testing
