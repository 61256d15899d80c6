#include "tests/support/learners.h"

#include <fmt/format.h>

namespace tributary::testing {

LearnerProcess::LearnerProcess(const ScratchFolder& folder, int index, int shards, int aggregator_port,
                               const std::string& extra)
    : name_(fmt::format("learner-{}", index)),
      summary_path_(folder.Path(name_ + ".json")),
      log_path_(folder.Path(name_ + ".log")) {
  config_path_ = folder.Write(name_ + ".toml", fmt::format(R"(node = "{}"
[http]
listen = ""
[federation]
aggregator = "127.0.0.1:{}"
images = "glyphs"
glyphs = 120
shards = {}
shard_index = {}
{})",
                                                           name_, aggregator_port, shards, index, extra));
}

void LearnerProcess::Start() {
  process_ = std::make_unique<Process>(
      "tributary-node", std::vector<std::string>{"--config", config_path_, "--summary", summary_path_},
      log_path_);
}

std::string FederationKeys(const ScratchFolder& folder) {
  return fmt::format("[federation]\nstore = \"{}\"\n", folder.Path("store"));
}

int RunCommand(const ScratchFolder& folder, const std::vector<std::string>& arguments) {
  Process command("tributary", arguments, folder.Path("command.log"));
  return command.Wait(std::chrono::seconds(30));
}

}  // namespace tributary::testing
