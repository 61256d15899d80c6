#include "core/config/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace tributary::config {
namespace {

struct Signs {
  std::string_view reader;             // who reads such a file
  std::vector<std::string_view> keys;  // that only such a file has at its top
  std::string_view tables = "";        // an array of tables; a node's `site` is a text
};

// By Program.
const std::array<Signs, 3>& AllSigns() {
  static const std::array<Signs, 3> signs = {{
      {"tributary-node", {"node", "panel", "uplink", "fusion"}},
      {"tributary-aggregator", {"listen", "ingest", "access", "parent"}, "site"},
      {"tributary run start", {"rounds", "min_nodes", "quorum", "deadline_s", "strategy", "client"}},
  }};
  return signs;
}

bool Shows(const ConfigFile& file, const Signs& signs) {
  const ConfigSection root = file.Root();
  return root.HasTables(signs.tables) ||
         std::ranges::any_of(signs.keys, [&root](std::string_view key) { return root.Has(key); });
}

}  // namespace

absl::Status CheckProgram(const ConfigFile& file, Program reader) {
  const Signs& own = AllSigns()[static_cast<std::size_t>(reader)];
  if (Shows(file, own)) return absl::OkStatus();
  for (const Signs& other : AllSigns()) {
    if (!Shows(file, other)) continue;
    return absl::InvalidArgumentError(
        fmt::format("{}: is a configuration for {}, not for {}", file.path(), other.reader, own.reader));
  }
  return absl::OkStatus();
}

}  // namespace tributary::config
