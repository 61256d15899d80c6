#include "core/config/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "core/config/config_text.h"
#include "core/runtime/file.h"

namespace tributary::config {

namespace {

struct Fault {
  std::string key;
  std::string line;  // as it is reported
};

struct Faults {
  // Keyed by (line, column) so that the report follows the file.
  std::multimap<std::pair<unsigned, unsigned>, Fault> all;

  void Add(const toml::source_region& place, const std::string& path, std::string_view key,
           std::string_view what) {
    const auto at = std::make_pair(unsigned{place.begin.line}, unsigned{place.begin.column});
    const std::string where = at.first == 0 ? path : fmt::format("{}:{}", path, at.first);
    all.emplace(
        at, Fault{std::string(key), fmt::format("{}: {}{}{}", where, key, key.empty() ? "" : ": ", what)});
  }
};

std::string WithoutIndices(std::string_view prefix) {
  std::string name;
  bool index = false;
  for (const char c : prefix) {
    index = c == '[' || (index && c != ']');
    if (!index || c == '[') name += c;
  }
  return name;
}

}  // namespace

struct ConfigFile::State {
  std::string path;
  toml::table root;
  std::set<const toml::node*> taken;
  Faults faults;
  std::vector<ConfigKey> keys;
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
  // The node of a key, which is declared hereby; null if it is not given.
  const toml::node* Declare(std::string_view key, Help help, ConfigKey declared) const {
    const toml::node* node = Take(key);
    declared.help = help.text;
    declared.hot = help.hot;
    declared.name = WithoutIndices(prefix) + std::string(key);
    const auto known = std::ranges::find(state->keys, declared.name, &ConfigKey::name);
    ConfigKey& key_of_all =
        known == state->keys.end() ? state->keys.emplace_back(std::move(declared)) : *known;
    if (node != nullptr && key_of_all.line == 0) {
      key_of_all.given = AsToml(*node, key_of_all.type);
      key_of_all.line = node->source().begin.line;
    }
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

std::string ConfigSection::Text(std::string_view key, std::string_view default_value, Help help) const {
  const toml::node* node =
      node_->Declare(key, help, {.type = "text", .default_value = TextToml(default_value)});
  if (node == nullptr) return std::string(default_value);
  if (auto value = node->value_exact<std::string>()) return *value;
  node_->Fault(node, key, Expected("text in quotes", *node));
  return std::string(default_value);
}

std::string ConfigSection::RequiredText(std::string_view key, Help help) const {
  node_->Declare(key, help, {.type = "text"});
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

std::string ConfigSection::RequiredName(std::string_view key, Help help) const {
  constexpr std::size_t kMaxBytes = 128;
  std::string name = RequiredText(key, help);
  const bool controls = std::ranges::any_of(name, [](unsigned char c) { return absl::ascii_iscntrl(c); });
  if (name.size() > kMaxBytes || controls) {
    Fault(key, fmt::format("expected a name of at most {} bytes without control characters", kMaxBytes));
  }
  return name;
}

std::string ConfigSection::File(const std::string& named) const {
  if (named.empty()) return named;
  return (std::filesystem::path(node_->state->path).parent_path() / named).lexically_normal().string();
}

std::string ConfigSection::Choice(std::string_view key, std::string_view default_value,
                                  std::initializer_list<std::string_view> allowed, Help help) const {
  return Choice(key, default_value, std::span(allowed.begin(), allowed.size()), help);
}

std::string ConfigSection::Choice(std::string_view key, std::string_view default_value,
                                  std::span<const std::string_view> allowed, Help help) const {
  node_->Declare(key, help,
                 {.type = "text",
                  .limits = fmt::format("{}", fmt::join(allowed, ", ")),
                  .default_value = TextToml(default_value)});
  std::string value = Text(key, default_value);
  if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return value;
  Fault(key, fmt::format("expected one of {}, found \"{}\"", fmt::join(allowed, ", "), value));
  return std::string(default_value);
}

std::int64_t ConfigSection::Integer(std::string_view key, std::int64_t default_value, IntegerLimits limits,
                                    Help help) const {
  const toml::node* node = node_->Declare(
      key, help,
      {.type = "integer", .limits = Bounds(limits), .default_value = fmt::format("{}", default_value)});
  if (node == nullptr) return default_value;
  const auto value = node->value_exact<std::int64_t>();
  if (value && *value >= limits.min && *value <= limits.max) return *value;
  node_->Fault(node, key, Expected(Range(limits), *node));
  return default_value;
}

std::int64_t ConfigSection::RequiredInteger(std::string_view key, IntegerLimits limits, Help help) const {
  node_->Declare(key, help, {.type = "integer", .limits = Bounds(limits)});
  if (Has(key)) return Integer(key, limits.min, limits, help);
  Fault(key, fmt::format("is required ({})", Range(limits)));
  return limits.min;
}

double ConfigSection::Real(std::string_view key, double default_value, RealLimits limits, Help help) const {
  const toml::node* node = node_->Declare(
      key, help,
      {.type = std::string(kNumber), .limits = Bounds(limits), .default_value = RealToml(default_value)});
  if (node == nullptr) return default_value;
  const auto value = node->is_number() ? node->value<double>() : std::optional<double>();
  if (value && *value >= limits.min && *value <= limits.max) return *value;  // NaN fails both
  node_->Fault(node, key, Expected(Range(limits), *node));
  return default_value;
}

bool ConfigSection::Boolean(std::string_view key, bool default_value, Help help) const {
  const toml::node* node =
      node_->Declare(key, help, {.type = "boolean", .default_value = fmt::format("{}", default_value)});
  if (node == nullptr) return default_value;
  if (auto value = node->value_exact<bool>()) return *value;
  node_->Fault(node, key, Expected("true or false", *node));
  return default_value;
}

std::vector<std::string> ConfigSection::Texts(std::string_view key, Help help) const {
  std::vector<std::string> values;
  const toml::node* node = node_->Declare(key, help, {.type = "array of texts", .default_value = "[]"});
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

std::vector<std::int64_t> ConfigSection::Integers(std::string_view key,
                                                  std::vector<std::int64_t> default_value,
                                                  IntegerLimits limits, Help help) const {
  const toml::node* node =
      node_->Declare(key, help,
                     {.type = "array of integers",
                      .limits = Bounds(limits),
                      .default_value = fmt::format("[{}]", fmt::join(default_value, ", "))});
  if (node == nullptr) return default_value;
  if (!node->is_array()) {
    node_->Fault(node, key, Expected("an array of integers", *node));
    return default_value;
  }
  std::vector<std::int64_t> values;
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

bool ConfigSection::Is(std::string_view key, std::string_view text) const {
  return Has(key) && node_->table->get(key)->value_exact<std::string_view>() == text;
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
  absl::StatusOr<std::string> text = runtime::ReadFile(path);
  if (!text.ok()) return text.status();
  return Parse(*text, path);
}

ConfigSection ConfigFile::Root() const {
  return ConfigSection(
      std::make_shared<ConfigSection::Node>(ConfigSection::Node{state_.get(), &state_->root, ""}));
}

const std::string& ConfigFile::path() const { return state_->path; }

namespace {

// The node of a name like "panel[0].source.file", or the nearest table around it.
const toml::node* Nearest(const toml::table& root, std::string_view name) {
  const toml::node* node = &root;
  for (const absl::string_view part : absl::StrSplit(absl::string_view(name.data(), name.size()), '.')) {
    const std::string key(part.substr(0, part.find('[')));
    const toml::table* table = node->as_table();
    const toml::node* next = table == nullptr ? nullptr : table->get(key);
    if (next == nullptr) return node;
    node = next;
    std::size_t index = 0;
    if (key.size() == part.size() ||
        !absl::SimpleAtoi(part.substr(key.size() + 1, part.size() - key.size() - 2), &index)) {
      continue;
    }
    const toml::array* array = node->as_array();
    if (array == nullptr || index >= array->size()) return node;
    node = array->get(index);
  }
  return node;
}

}  // namespace

void ConfigFile::Fault(std::string_view key, std::string_view what) const {
  state_->faults.Add(Nearest(state_->root, key)->source(), state_->path, key, what);
}

void ConfigFile::Fault(std::string_view table, std::initializer_list<NamedFile> files,
                       const absl::Status& status) const {
  for (const absl::string_view part : absl::StrSplit(status.message(), '\n')) {
    const std::string message(part);
    const auto names = [&message](const NamedFile& file) {
      return !file.second.empty() && message.starts_with(fmt::format("{}: ", file.second));
    };
    const auto* named = std::ranges::find_if(files, names);
    Fault(named == files.end() ? table : named->first, message);
  }
}

bool ConfigFile::HasFault(std::string_view key) const {
  return std::ranges::any_of(state_->faults.all, [key](const auto& entry) {
    const std::string_view at = entry.second.key;
    return at.starts_with(key) && (at.size() == key.size() || at[key.size()] == '.' || at[key.size()] == '[');
  });
}

std::vector<ConfigKey> ConfigFile::Keys() const { return state_->keys; }

namespace {

using Leaves = std::map<std::string, const toml::node*>;

// Every value of a file, by a name like "panel[0].source.file".
void CollectLeaves(const toml::node& node, const std::string& name, Leaves& leaves) {
  if (const toml::table* table = node.as_table()) {
    for (const auto& [key, value] : *table) {
      CollectLeaves(value, fmt::format("{}{}{}", name, name.empty() ? "" : ".", key.str()), leaves);
    }
  } else if (node.is_array_of_tables()) {
    for (std::size_t i = 0; i < node.as_array()->size(); ++i) {
      CollectLeaves(*node.as_array()->get(i), fmt::format("{}[{}]", name, i), leaves);
    }
  } else {
    leaves[name] = &node;
  }
}

}  // namespace

std::vector<std::string> ConfigFile::NeedRestart(const ConfigFile& now) const {
  Leaves before;
  Leaves after;
  CollectLeaves(state_->root, "", before);
  CollectLeaves(now.state_->root, "", after);
  Leaves all = before;
  all.insert(after.begin(), after.end());
  std::vector<std::string> changed;
  for (const auto& leaf : all) {
    const std::string& name = leaf.first;
    const std::string declared = WithoutIndices(name);
    const auto key_in = [&declared](const State& state) {
      const auto found = std::ranges::find(state.keys, declared, &ConfigKey::name);
      return found == state.keys.end() ? ConfigKey() : *found;
    };
    const ConfigKey then = key_in(*state_);
    const ConfigKey key = then.name.empty() ? key_in(*now.state_) : then;
    const auto value = [&](const Leaves& leaves) {
      const auto found = leaves.find(name);
      return found == leaves.end() ? key.default_value : AsToml(*found->second, key.type);
    };
    if (!key.hot && value(before) != value(after)) changed.push_back(name);
  }
  return changed;
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
  if (faults.all.empty()) return absl::OkStatus();
  std::string report;
  for (const auto& [place, fault] : faults.all) {
    if (!report.empty()) report += '\n';
    report += fault.line;
  }
  return absl::InvalidArgumentError(report);
}

}  // namespace tributary::config
