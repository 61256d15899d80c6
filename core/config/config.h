// Configuration from TOML: every fault is found and reported at once, with file, line, key and what is
// allowed.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tributary::config {

// What a number may be. The ends belong to it, unless they are open.
template <typename T>
struct Limits {
  T min = std::numeric_limits<T>::lowest();
  T max = std::numeric_limits<T>::max();
  bool above_min = false;
  bool below_max = false;

  // False for NaN.
  constexpr bool Admits(T value) const {
    return (above_min ? value > min : value >= min) && (below_max ? value < max : value <= max);
  }
};
using IntegerLimits = Limits<std::int64_t>;
using RealLimits = Limits<double>;

// "an integer from 1 to 9", "a number of at least 1", "a number above 0", "a number".
std::string Range(const IntegerLimits& limits);
std::string Range(const RealLimits& limits);

// What a key means, said where it is read: the reference and the answer to SIGHUP come from it. Empty for a
// key whose reader says nothing yet.
struct Help {
  // NOLINTNEXTLINE(google-explicit-constructor): a text is help
  constexpr Help(const char* meaning = "") : text(meaning) {}

  std::string_view text;
  bool hot = false;       // SIGHUP reads the key again; every other key needs a restart
  bool required = false;  // it has no default
};
constexpr Help Hot(Help help) {
  help.hot = true;
  return help;
}
constexpr Help Required(Help help) {
  help.required = true;
  return help;
}

// Whether peers and logs take this as a name: 1 to 128 bytes of UTF-8, without control and hidden characters.
bool IsName(std::string_view name);

// What a reader asked for: the declaration of one key, as documentation and tests need it.
struct ConfigKey {
  std::string name = {};           // with its tables, those of an array as "panel[].name"
  std::string type = {};           // "text", "integer", "number", "boolean", "array of texts" …
  std::string limits = {};         // "1 to 9", "south, east, north, west"; empty: none
  std::string default_value = {};  // as TOML; empty: required
  std::string help = {};
  bool hot = false;        // SIGHUP reads it again
  std::string given = {};  // as TOML; empty: the default was taken
  unsigned line = 0;       // of the file; 0: not given
};

// One table of a configuration file. A reader takes each key once, into a variable that holds the default;
// what was never taken is an unknown key. A value of the wrong type or outside its limits is recorded as a
// fault and the default stays, so that reading goes on to the next fault. Valid as long as its ConfigFile.
class ConfigSection {
 public:
  // A required text must not be empty.
  void Read(std::string_view key, std::string& value, Help help = {}) const;
  void Read(std::string_view key, bool& value, Help help = {}) const;
  void Read(std::string_view key, double& value, RealLimits limits = {}, Help help = {}) const;
  void Read(std::string_view key, std::int64_t& value, IntegerLimits limits = {}, Help help = {}) const;
  void Read(std::string_view key, std::vector<std::string>& value, Help help = {}) const;
  void Read(std::string_view key, std::vector<std::int64_t>& value, IntegerLimits limits = {},
            Help help = {}) const;

  void Read(std::string_view key, std::vector<double>& value, RealLimits limits = {}, Help help = {}) const;

  // An integer of another type, which holds the limits.
  template <std::integral T>
  void Read(std::string_view key, T& value, IntegerLimits limits = {}, Help help = {}) const {
    auto integer = static_cast<std::int64_t>(value);
    Read(key, integer, limits, help);
    value = static_cast<T>(integer);
  }

  // A name as in IsName, and required.
  void ReadName(std::string_view key, std::string& value, Help help = {}) const;
  // A path, made absolute by File.
  void ReadFile(std::string_view key, std::string& value, Help help = {}) const;

  using Names = std::vector<std::string_view>;
  void Choose(std::string_view key, std::string& value, const Names& allowed, Help help = {}) const;
  // The names of the values from 0 on, in their order.
  template <typename Value>
  void Choose(std::string_view key, Value& value, const Names& names, Help help = {}) const {
    std::string name(names[static_cast<std::size_t>(value)]);
    Choose(key, name, names, help);
    value = static_cast<Value>(std::ranges::find(names, name) - names.begin());
  }

  // Where a file lies that the configuration names: relative to the configuration's own folder, wherever the
  // program was started. Empty stays empty.
  std::string File(const std::string& named) const;

  // A nested table `[key]`; an empty section if absent, so that its defaults apply.
  ConfigSection Section(std::string_view key) const;
  bool Has(std::string_view key) const;
  // Whether tables `[[key]]` are given, without reading them.
  bool HasTables(std::string_view key) const;
  // Whether a key is given as this text, without reading it.
  bool Is(std::string_view key, std::string_view text) const;
  // An array of tables `[[key]]`, in order.
  std::vector<ConfigSection> List(std::string_view key) const;

  // Whether a fault was recorded at a key.
  bool HasFault(std::string_view key) const;
  // Records a fault that the reader found itself; `key` may be empty for the table as a whole.
  void Fault(std::string_view key, std::string_view what) const;

 private:
  friend class ConfigFile;
  struct Node;
  explicit ConfigSection(std::shared_ptr<Node> node) : node_(std::move(node)) {}
  std::shared_ptr<Node> node_;
};

// One file, parsed. Not thread-safe.
class ConfigFile {
 public:
  // `path` is used in messages. Errors: InvalidArgument for TOML that does not parse, with its place.
  static absl::StatusOr<ConfigFile> Parse(std::string_view text, std::string_view path);
  // Errors: NotFound or PermissionDenied naming the file; InvalidArgument for all else that somebody must
  // mend: a folder, a named pipe, a file of more than kMaxTextBytes, and as Parse.
  static absl::StatusOr<ConfigFile> Read(const std::string& path);

  ConfigSection Root() const;
  const std::string& path() const;

  // Records a fault of a key that was read earlier, e.g. "panel[0].model"; empty: of the file as a whole. A
  // key that is not given stands where its table stands.
  void Fault(std::string_view key, std::string_view what) const;
  // Records each line of a message about files that the configuration names: at the first key whose file the
  // line begins with, otherwise at `table`.
  using NamedFile = std::pair<std::string_view, std::string_view>;  // key, path
  void Fault(std::string_view table, std::initializer_list<NamedFile> files,
             const absl::Status& status) const;
  // Whether a fault was recorded at a key, or below it for a table.
  bool HasFault(std::string_view key) const;

  // Every key that was asked for so far, in order. Tables of an array are one: the first value given holds.
  std::vector<ConfigKey> Keys() const;

  // The keys that `now`, read by the same reader, gives another value and that SIGHUP does not read again:
  // "site[0].sources", "http.listen". A key that is not given has its default.
  std::vector<std::string> NeedRestart(const ConfigFile& now) const;

  // InvalidArgument with one line per fault, sorted by place, unknown keys included; OK if there is none.
  absl::Status Finish() const;

 private:
  friend class ConfigSection;
  struct State;
  explicit ConfigFile(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;  // a copy records into the same file
};

}  // namespace tributary::config
