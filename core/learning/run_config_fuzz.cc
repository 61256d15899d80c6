// A configuration from anybody who may start runs: it is refused with a message, or it is valid.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/learning/run_config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto config = tributary::learning::ParseRunConfig(text, "run.toml");
  if (config.ok() && !tributary::learning::Validate(*config).ok()) std::abort();
  if (config.ok() && tributary::learning::RunNameIn(text) != config->name) std::abort();
  if (!config.ok() && config.status().message().empty()) std::abort();
  return 0;
}
