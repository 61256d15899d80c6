#include "core/runtime/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "core/runtime/file.h"

namespace tributary {

namespace {

struct Faults {
  // Keyed by (line, column) so that the report follows the file.
  std::multimap<std::pair<unsigned, unsigned>, std::string> lines;

  void Add(const toml::source_region& place, const std::string& path, std::string_view key,
           std::string_view what) {
    const auto at = std::make_pair(unsigned{place.begin.line}, unsigned{place.begin.column});
    const std::string where = at.first == 0 ? path : fmt::format("{}:{}", path, at.first);
    lines.emplace(at, fmt::format("{}: {}{}{}", where, key, key.empty() ? "" : ": ", what));
  }
};

}  // namespace

struct ConfigFile::State {
  std::string path;
  toml::table root;
  std::set<const toml::node*> taken;
  Faults faults;
};

struct ConfigSection::Node {
  ConfigFile::State* state;
  const toml::table* table;  // null: absent, defaults apply
  std::string prefix;        // e.g. "site[1].", for messages

  const toml::node* Take(std::string_view key) const {
    const toml::node* node = table == nullptr ? nullptr : table->get(key);
    if (node != nullptr) state->taken.insert(node);
    return node;
  }
  void Fault(const toml::node* node, std::string_view key, std::string_view what) const {
    toml::source_region place{};
    if (node != nullptr) {
      place = node->source();
    } else if (table != nullptr) {
      place = table->source();
    }
    std::string name = prefix + std::string(key);
    if (name.ends_with('.')) name.pop_back();
    state->faults.Add(place, state->path, name, what);
  }
};

namespace {

std::string Found(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::string:
      return fmt::format("the text \"{}\"", node.value_or(std::string_view{}));
    case toml::node_type::integer:
      return fmt::format("{}", *node.value<std::int64_t>());
    case toml::node_type::floating_point:
      return fmt::format("{}", *node.value<double>());
    case toml::node_type::boolean:
      return fmt::format("{}", *node.value<bool>());
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "an array";
    default:
      return "a date or time";
  }
}

std::string Range(IntegerLimits limits) {
  const IntegerLimits none;
  if (limits.min == none.min && limits.max == none.max) return "an integer";
  if (limits.max == none.max) return fmt::format("an integer of at least {}", limits.min);
  return fmt::format("an integer from {} to {}", limits.min, limits.max);
}

std::string Range(RealLimits limits) {
  const RealLimits none;
  if (limits.min == none.min && limits.max == none.max) return "a number";
  if (limits.max == none.max) return fmt::format("a number of at least {}", limits.min);
  return fmt::format("a number from {} to {}", limits.min, limits.max);
}

std::string Expected(std::string_view what, const toml::node& node) {
  return fmt::format("expected {}, found {}", what, Found(node));
}

}  // namespace

std::string ConfigSection::Text(std::string_view key, std::string_view default_value) const {
  const toml::node* node = node_->Take(key);
  if (node == nullptr) return std::string(default_value);
  if (auto value = node->value_exact<std::string>()) return *value;
  node_->Fault(node, key, Expected("text in quotes", *node));
  return std::string(default_value);
}

std::string ConfigSection::RequiredText(std::string_view key) const {
  if (!Has(key)) {
    Fault(key, "is required (text in quotes)");
    return {};
  }
  std::string value = Text(key, "");
  if (value.empty() && node_->table->get(key)->is_string()) {
    node_->Fault(node_->table->get(key), key, "must not be empty");
  }
  return value;
}

std::string ConfigSection::File(const std::string& named) const {
  if (named.empty()) return named;
  return (std::filesystem::path(node_->state->path).parent_path() / named).lexically_normal().string();
}

std::string ConfigSection::Choice(std::string_view key, std::string_view default_value,
                                  std::initializer_list<std::string_view> allowed) const {
  std::string value = Text(key, default_value);
  if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return value;
  Fault(key, fmt::format("expected one of {}, found \"{}\"", fmt::join(allowed, ", "), value));
  return std::string(default_value);
}

std::int64_t ConfigSection::Integer(std::string_view key, std::int64_t default_value,
                                    IntegerLimits limits) const {
  const toml::node* node = node_->Take(key);
  if (node == nullptr) return default_value;
  const auto value = node->value_exact<std::int64_t>();
  if (value && *value >= limits.min && *value <= limits.max) return *value;
  node_->Fault(node, key, Expected(Range(limits), *node));
  return default_value;
}

double ConfigSection::Real(std::string_view key, double default_value, RealLimits limits) const {
  const toml::node* node = node_->Take(key);
  if (node == nullptr) return default_value;
  const auto value = node->is_number() ? node->value<double>() : std::optional<double>();
  if (value && *value >= limits.min && *value <= limits.max) return *value;  // NaN fails both
  node_->Fault(node, key, Expected(Range(limits), *node));
  return default_value;
}

bool ConfigSection::Boolean(std::string_view key, bool default_value) const {
  const toml::node* node = node_->Take(key);
  if (node == nullptr) return default_value;
  if (auto value = node->value_exact<bool>()) return *value;
  node_->Fault(node, key, Expected("true or false", *node));
  return default_value;
}

std::vector<std::string> ConfigSection::Texts(std::string_view key) const {
  std::vector<std::string> values;
  const toml::node* node = node_->Take(key);
  if (node == nullptr) return values;
  if (!node->is_array()) {
    node_->Fault(node, key, Expected("an array of texts", *node));
    return values;
  }
  for (const toml::node& element : *node->as_array()) {
    if (const auto value = element.value_exact<std::string>()) {
      values.push_back(*value);
    } else {
      node_->Fault(&element, key, Expected("texts in the array", element));
    }
  }
  return values;
}

std::vector<std::int64_t> ConfigSection::Integers(std::string_view key, IntegerLimits limits) const {
  std::vector<std::int64_t> values;
  const toml::node* node = node_->Take(key);
  if (node == nullptr) return values;
  if (!node->is_array()) {
    node_->Fault(node, key, Expected("an array of integers", *node));
    return values;
  }
  for (const toml::node& element : *node->as_array()) {
    const auto value = element.value_exact<std::int64_t>();
    if (value && *value >= limits.min && *value <= limits.max) {
      values.push_back(*value);
    } else {
      node_->Fault(&element, key, Expected("in the array: " + Range(limits), element));
    }
  }
  return values;
}

ConfigSection ConfigSection::Section(std::string_view key) const {
  const toml::node* node = node_->Take(key);
  if (node != nullptr && !node->is_table()) {
    node_->Fault(node, key, Expected(fmt::format("a table [{}]", key), *node));
    node = nullptr;
  }
  return ConfigSection(std::make_shared<Node>(Node{node_->state, node == nullptr ? nullptr : node->as_table(),
                                                   fmt::format("{}{}.", node_->prefix, key)}));
}

bool ConfigSection::Has(std::string_view key) const {
  return node_->table != nullptr && node_->table->contains(key);
}

std::vector<ConfigSection> ConfigSection::List(std::string_view key) const {
  std::vector<ConfigSection> sections;
  const toml::node* node = node_->Take(key);
  if (node == nullptr) return sections;
  if (!node->is_array_of_tables()) {
    node_->Fault(node, key, Expected(fmt::format("tables [[{}]]", key), *node));
    return sections;
  }
  for (const toml::node& element : *node->as_array()) {
    node_->state->taken.insert(&element);
    sections.push_back(ConfigSection(std::make_shared<Node>(Node{
        node_->state, element.as_table(), fmt::format("{}{}[{}].", node_->prefix, key, sections.size())})));
  }
  return sections;
}

void ConfigSection::Fault(std::string_view key, std::string_view what) const {
  const toml::node* node = node_->table == nullptr || key.empty() ? nullptr : node_->table->get(key);
  node_->Fault(node, key, what);
}

ConfigFile::ConfigFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
ConfigFile::ConfigFile(ConfigFile&&) noexcept = default;
ConfigFile& ConfigFile::operator=(ConfigFile&&) noexcept = default;
ConfigFile::~ConfigFile() = default;

absl::StatusOr<ConfigFile> ConfigFile::Parse(std::string_view text, std::string_view path) {
  auto state = std::make_unique<State>();
  state->path = path;
  try {
    state->root = toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    return absl::InvalidArgumentError(fmt::format("{}:{}:{}: {}", path, error.source().begin.line,
                                                  error.source().begin.column, error.description()));
  }
  return ConfigFile(std::move(state));
}

absl::StatusOr<ConfigFile> ConfigFile::Read(const std::string& path) {
  absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) return text.status();
  return Parse(*text, path);
}

ConfigSection ConfigFile::Root() const {
  return ConfigSection(
      std::make_shared<ConfigSection::Node>(ConfigSection::Node{state_.get(), &state_->root, ""}));
}

namespace {

using UnknownKey = std::pair<const toml::node*, std::string>;

// Keys that nobody took; below an unknown table nothing more is listed.
void CollectUnknown(const toml::table& table, const std::string& prefix,
                    const std::set<const toml::node*>& taken, std::vector<UnknownKey>& unknown) {
  for (const auto& [key, node] : table) {
    const std::string name = prefix + std::string(key.str());
    if (!taken.contains(&node)) {
      unknown.emplace_back(&node, name);
    } else if (const toml::table* nested = node.as_table()) {
      CollectUnknown(*nested, name + ".", taken, unknown);
    } else if (const toml::array* array = node.as_array()) {
      for (std::size_t i = 0; i < array->size(); ++i) {
        const toml::table* element = (*array)[i].as_table();
        if (element != nullptr) CollectUnknown(*element, fmt::format("{}[{}].", name, i), taken, unknown);
      }
    }
  }
}

}  // namespace

absl::Status ConfigFile::Finish() const {
  std::vector<UnknownKey> unknown;
  CollectUnknown(state_->root, "", state_->taken, unknown);
  Faults faults = state_->faults;
  for (const auto& [node, name] : unknown) faults.Add(node->source(), state_->path, name, "unknown key");
  if (faults.lines.empty()) return absl::OkStatus();
  std::string report;
  for (const auto& [place, line] : faults.lines) {
    if (!report.empty()) report += '\n';
    report += line;
  }
  return absl::InvalidArgumentError(report);
}

}  // namespace tributary
