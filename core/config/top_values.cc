#include "core/config/top_values.h"

#include <toml++/toml.h>

#include <sstream>
#include <type_traits>

#include "core/config/config.h"
#include "core/status/macros.h"

namespace tributary::config {

absl::StatusOr<std::string> WithTopValues(std::string_view text, std::string_view path,
                                          const std::map<std::string, TopValue>& values) {
  RETURN_IF_ERROR(ConfigFile::Parse(text, path).status());
  toml::table table = toml::parse(text, path);
  for (const auto& [key, value] : values) {
    std::visit(
        [&table, &key = key](const auto& given) {
          if constexpr (std::is_same_v<std::decay_t<decltype(given)>, std::vector<std::string>>) {
            toml::array list;
            for (const std::string& each : given) list.push_back(each);
            table.insert_or_assign(key, std::move(list));
          } else {
            table.insert_or_assign(key, given);
          }
        },
        value);
  }
  std::ostringstream out;
  out << table << "\n";
  return out.str();
}

}  // namespace tributary::config
