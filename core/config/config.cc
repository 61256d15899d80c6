#include "core/config/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "core/config/config_text.h"
#include "core/config/fault_report.h"
#include "core/config/nesting.h"
#include "core/config/quotes_hint.h"
#include "core/runtime/file.h"
#include "core/runtime/nearest.h"
#include "core/runtime/printable.h"
#include "core/status/macros.h"

namespace tributary::config {

namespace {

std::string WithoutIndices(std::string_view prefix) {
  std::string name;
  bool index = false;
  for (const char c : prefix) {
    index = c == '[' || (index && c != ']');
    if (!index || c == '[') name += c;
  }
  return name;
}

// A table as its heading in a file names it: "site.owner".
std::string Heading(std::string_view prefix, std::string_view key) {
  return absl::StrReplaceAll(WithoutIndices(prefix), {{"[]", ""}}) + std::string(key);
}

}  // namespace

struct ConfigFile::State {
  explicit State(std::string_view file) : path(file) {}

  std::string path;
  toml::table root;
  std::set<const toml::node*> taken;
  FaultReport faults{path};
  std::vector<ConfigKey> keys;

  // The declaration of a key, "site[].name"; null if nobody has asked for it.
  ConfigKey* Find(std::string_view name) {
    const auto found = std::ranges::find(keys, name, &ConfigKey::name);
    return found == keys.end() ? nullptr : &*found;
  }
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
    ConfigKey* known = state->Find(declared.name);
    ConfigKey& key_of_all = known == nullptr ? state->keys.emplace_back(std::move(declared)) : *known;
    if (node != nullptr && key_of_all.line == 0) {
      key_of_all.given = AsToml(*node, key_of_all.type);
      key_of_all.line = node->source().begin.line;
    }
    return node;
  }
  void Fault(const toml::node* node, std::string_view key, std::string_view what) const {
    if (node == nullptr) node = table;
    std::string name = prefix + std::string(key);
    if (name.ends_with('.')) name.pop_back();
    const toml::source_region place = node == nullptr ? toml::source_region{} : node->source();
    state->faults.Add(place, name, what);
  }
  // Takes a key into `value` if `take` gives something; it is a fault if not.
  template <typename T>
  void Read(std::string_view key, T& value, Help help, ConfigKey declared, std::string_view expected,
            const auto& take) const {
    if (!help.required) declared.default_value = AsToml(toml::value<T>(value), declared.type);
    const toml::node* node = Declare(key, help, std::move(declared));
    if (node == nullptr) {
      if (help.required) Fault(node, key, fmt::format("is required ({})", expected));
    } else if (std::optional<T> taken = take(*node)) {
      value = *std::move(taken);
    } else {
      Fault(node, key, Expected(expected, *node));
    }
  }
  // The same for the elements of an array.
  template <typename T>
  void ReadArray(std::string_view key, std::vector<T>& values, Help help, ConfigKey declared,
                 std::string_view expected, const auto& take) const {
    toml::array default_value;
    for (const T& value : values) default_value.push_back(value);
    declared.default_value = AsToml(default_value, declared.type);
    const std::string array = fmt::format("an {}", declared.type);
    const toml::node* node = Declare(key, help, std::move(declared));
    if (node == nullptr) return;
    if (!node->is_array()) return Fault(node, key, Expected(array, *node));
    values.clear();
    for (const toml::node& element : *node->as_array()) {
      if (std::optional<T> taken = take(element)) {
        values.push_back(*std::move(taken));
      } else {
        Fault(&element, key, Expected(expected, element));
      }
    }
  }
};

namespace {

std::optional<std::string> TakeText(const toml::node& node) { return node.value_exact<std::string>(); }

template <typename T>
auto TakeWithin(const Limits<T>& limits) {
  return [limits](const toml::node& node) {
    // An integer is a number, too.
    std::optional<T> value =
        std::is_integral_v<T> || !node.is_number() ? node.value_exact<T>() : node.value<T>();
    if (value && !limits.Admits(*value)) value.reset();
    return value;
  };
}

constexpr std::size_t kMaxNameBytes = 128;

}  // namespace

bool IsName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes && name.find('\n') == std::string_view::npos &&
         runtime::Printable(name) == name;
}

void ConfigSection::Read(std::string_view key, std::string& value, Help help) const {
  node_->Read(key, value, help, {.type = "text"}, "text in quotes", TakeText);
  if (help.required && Is(key, "")) Fault(key, "must not be empty");
}

void ConfigSection::Read(std::string_view key, bool& value, Help help) const {
  node_->Read(key, value, help, {.type = "boolean"}, "true or false",
              [](const toml::node& node) { return node.value_exact<bool>(); });
}

void ConfigSection::Read(std::string_view key, double& value, RealLimits limits, Help help) const {
  node_->Read(key, value, help, {.type = std::string(kNumber), .limits = Bounds(limits)}, Range(limits),
              TakeWithin(limits));
}

void ConfigSection::Read(std::string_view key, std::int64_t& value, IntegerLimits limits, Help help) const {
  node_->Read(key, value, help, {.type = "integer", .limits = Bounds(limits)}, Range(limits),
              TakeWithin(limits));
}

void ConfigSection::Read(std::string_view key, std::vector<std::string>& value, Help help) const {
  node_->ReadArray(key, value, help, {.type = "array of texts"}, "texts in the array", TakeText);
}

void ConfigSection::Read(std::string_view key, std::vector<std::int64_t>& value, IntegerLimits limits,
                         Help help) const {
  node_->ReadArray(key, value, help, {.type = "array of integers", .limits = Bounds(limits)},
                   "in the array: " + Range(limits), TakeWithin(limits));
}

void ConfigSection::Read(std::string_view key, std::vector<double>& value, RealLimits limits,
                         Help help) const {
  node_->ReadArray(key, value, help, {.type = "array of numbers", .limits = Bounds(limits)},
                   "in the array: " + Range(limits), TakeWithin(limits));
}

void ConfigSection::ReadName(std::string_view key, std::string& value, Help help) const {
  Read(key, value, Required(help));
  if (value.empty() || IsName(value)) return;
  Fault(key, fmt::format("expected a name of at most {} bytes without control and hidden characters",
                         kMaxNameBytes));
}

void ConfigSection::ReadFile(std::string_view key, std::string& value, Help help) const {
  Read(key, value, help);
  value = File(value);
}

std::string ConfigSection::File(const std::string& named) const {
  if (named.empty()) return named;
  return (std::filesystem::path(node_->state->path).parent_path() / named).lexically_normal().string();
}

void ConfigSection::Choose(std::string_view key, std::string& value, const Names& allowed, Help help) const {
  const std::string choices = fmt::format("{}", fmt::join(allowed, ", "));
  const auto take = [&allowed](const toml::node& node) {
    std::optional<std::string> name = TakeText(node);
    if (name && std::ranges::count(allowed, *name) == 0) name.reset();
    return name;
  };
  node_->Read(key, value, help, {.type = "text", .limits = choices}, "one of " + choices, take);
}

ConfigSection ConfigSection::Section(std::string_view key) const {
  const toml::node* node = node_->Take(key);
  if (node != nullptr && !node->is_table()) {
    node_->Fault(node, key, Expected(fmt::format("a table [{}]", Heading(node_->prefix, key)), *node));
    node = nullptr;
  }
  return ConfigSection(std::make_shared<Node>(Node{node_->state, node == nullptr ? nullptr : node->as_table(),
                                                   fmt::format("{}{}.", node_->prefix, key)}));
}

bool ConfigSection::Has(std::string_view key) const {
  return node_->table != nullptr && node_->table->contains(key);
}

bool ConfigSection::HasTables(std::string_view key) const {
  return Has(key) && node_->table->get(key)->is_array_of_tables();
}

bool ConfigSection::Is(std::string_view key, std::string_view text) const {
  return Has(key) && node_->table->get(key)->value_exact<std::string_view>() == text;
}

std::vector<ConfigSection> ConfigSection::List(std::string_view key) const {
  std::vector<ConfigSection> sections;
  const toml::node* node = node_->Take(key);
  if (node == nullptr) return sections;
  const auto add = [&](const toml::node& element) {
    node_->state->taken.insert(&element);
    sections.push_back(ConfigSection(std::make_shared<Node>(Node{
        node_->state, element.as_table(), fmt::format("{}{}[{}].", node_->prefix, key, sections.size())})));
  };
  if (node->is_table()) {
    const std::string heading = Heading(node_->prefix, key);
    node_->Fault(node, key, fmt::format("there may be several: write [[{}]], not [{}]", heading, heading));
    add(*node);  // so that its other faults are said, too
  } else if (!node->is_array_of_tables()) {
    node_->Fault(node, key, Expected(fmt::format("tables [[{}]]", Heading(node_->prefix, key)), *node));
  } else {
    for (const toml::node& element : *node->as_array()) add(element);
  }
  return sections;
}

bool ConfigSection::HasFault(std::string_view key) const {
  return node_->state->faults.Has(node_->prefix + std::string(key));
}

void ConfigSection::Fault(std::string_view key, std::string_view what) const {
  const toml::node* node = node_->table == nullptr || key.empty() ? nullptr : node_->table->get(key);
  node_->Fault(node, key, what);
}

absl::StatusOr<ConfigFile> ConfigFile::Parse(std::string_view text, std::string_view path) {
  RETURN_IF_ERROR(CheckNesting(text, path));
  auto state = std::make_shared<State>(path);
  try {
    state->root = toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    const toml::source_position at = error.source().begin;
    return absl::InvalidArgumentError(fmt::format("{}:{}:{}: {}{}", path, at.line, at.column,
                                                  error.description(), QuotesHint(text, at.line)));
  }
  return ConfigFile(std::move(state));
}

absl::StatusOr<ConfigFile> ConfigFile::Read(const std::string& path) {
  const absl::StatusOr<std::string> text = runtime::ReadFile(path, kMaxTextBytes);
  if (text.ok()) return Parse(*text, path);
  if (absl::IsNotFound(text.status()) || absl::IsPermissionDenied(text.status())) return text.status();
  return absl::InvalidArgumentError(text.status().message());
}

ConfigSection ConfigFile::Root() const {
  return ConfigSection(
      std::make_shared<ConfigSection::Node>(ConfigSection::Node{state_.get(), &state_->root, ""}));
}

const std::string& ConfigFile::path() const { return state_->path; }

namespace {

// The node of a name like "panel[0].source.file", or the nearest table around it.
const toml::node& Nearest(const toml::table& root, std::string_view name) {
  while (!name.empty()) {
    if (const auto found = root.at_path(name)) return *found.node();
    const std::size_t end = name.find_last_of(".[");
    name = name.substr(0, end == name.npos ? 0 : end);
  }
  return root;
}

using Visitor = std::function<bool(const std::string& name, const toml::node& node)>;

// Visits all that stands in a table by names like "panel[0].source.file", and what is below a node where
// `visit` returns true.
void Walk(const toml::table& table, const std::string& prefix, const Visitor& visit) {
  for (const auto& [key, node] : table) {
    const std::string name = prefix + std::string(key.str());
    if (!visit(name, node)) continue;
    if (const toml::table* nested = node.as_table()) Walk(*nested, name + ".", visit);
    if (!node.is_array_of_tables()) continue;
    for (std::size_t i = 0; i < node.as_array()->size(); ++i) {
      Walk(*node.as_array()->get(i)->as_table(), fmt::format("{}[{}].", name, i), visit);
    }
  }
}

// The key or table beside `unknown` that was most likely meant; empty if none is near.
std::string Meant(const std::vector<ConfigKey>& keys, std::string_view unknown) {
  const std::string name = WithoutIndices(unknown);
  const std::size_t begin = name.rfind('.') + 1;  // 0 at the top
  std::vector<std::string> beside;
  for (const ConfigKey& key : keys) {
    if (!key.name.starts_with(name.substr(0, begin))) continue;
    beside.push_back(key.name.substr(begin, key.name.find_first_of(".[", begin) - begin));
  }
  return runtime::Nearest(name.substr(begin), beside);
}

// The file may be a stranger's, with as many unknown keys as it holds.
constexpr int kMostSuggestions = 100;

}  // namespace

void ConfigFile::Fault(std::string_view key, std::string_view what) const {
  state_->faults.Add(Nearest(state_->root, key).source(), key, what);
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

bool ConfigFile::HasFault(std::string_view key) const { return state_->faults.Has(key); }

std::vector<ConfigKey> ConfigFile::Keys() const { return state_->keys; }

std::vector<std::string> ConfigFile::NeedRestart(const ConfigFile& now) const {
  using Given = std::array<const toml::node*, 2>;  // in both files; null: the default
  std::map<std::string, Given> values;
  const std::array<State*, 2> files = {state_.get(), now.state_.get()};
  for (std::size_t i = 0; i < files.size(); ++i) {
    Walk(files[i]->root, "", [&values, i](const std::string& name, const toml::node& node) {
      if (!node.is_table() && !node.is_array_of_tables()) values[name][i] = &node;
      return true;
    });
  }
  std::vector<std::string> changed;
  for (const auto& [name, given] : values) {
    const std::string declared = WithoutIndices(name);
    const ConfigKey* key = files[0]->Find(declared);
    if (key == nullptr) key = files[1]->Find(declared);
    if (key == nullptr || key->hot) continue;
    const auto value = [key](const toml::node* node) {
      return node == nullptr ? key->default_value : AsToml(*node, key->type);
    };
    if (value(given[0]) != value(given[1])) changed.push_back(name);
  }
  return changed;
}

absl::Status ConfigFile::Finish() const {
  FaultReport faults = state_->faults;
  int unknown = 0;
  Walk(state_->root, "", [&](const std::string& name, const toml::node& node) {
    if (state_->taken.contains(&node)) return true;
    const std::string meant = ++unknown > kMostSuggestions ? "" : Meant(state_->keys, name);
    faults.Add(node.source(), name, "unknown key" + runtime::DidYouMean(meant));
    return false;
  });
  return faults.Result();
}

}  // namespace tributary::config
