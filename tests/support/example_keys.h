// Checks examples against the readers: a reader tells which keys it asked for, an example shows each with its
// default.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/config/config.h"

namespace tributary::testing {

inline std::string ReadExample(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Includes commented keys: lines like "# key = value" and "# [table]".
inline std::string Uncommented(const std::string& text) {
  static const std::regex commented(R"((^|\n)# (\[?\[[a-z.]+\]\]?|[a-z0-9_]+ = ["\[0-9a-z]))");
  std::string all = text;
  for (std::string before; before != all;) {
    before = all;
    all = std::regex_replace(all, commented, "$1$2");
  }
  return all;
}

// The text after the '#' of a line, counted from 1.
inline std::string CommentOf(const std::string& text, unsigned line) {
  std::istringstream lines(text);
  std::string found;
  for (unsigned i = 0; i < line; ++i) std::getline(lines, found);
  const std::size_t hash = found.rfind("  # ");
  return hash == std::string::npos ? "" : found.substr(hash + 4);
}

// One line for each key that the example does not show with its default, or with a comment that gives the
// default or says that there is none.
inline std::vector<std::string> KeysShownWrongly(const std::vector<config::ConfigKey>& keys,
                                                 const std::string& text) {
  std::vector<std::string> wrong;
  for (const config::ConfigKey& key : keys) {
    if (key.line == 0) {
      wrong.push_back(fmt::format("{} is not shown; default {}", key.name, key.default_value));
      continue;
    }
    const std::string comment = CommentOf(text, key.line);
    const bool required = comment.starts_with("required");
    const bool is_default = key.given == key.default_value;
    const bool says_default = comment.find("default") != std::string::npos;
    if (key.default_value.empty() ? !required : !is_default && !says_default && !required) {
      wrong.push_back(fmt::format("line {}: {} = {}, default {}", key.line, key.name, key.given,
                                  key.default_value.empty() ? "none: it is required" : key.default_value));
    }
  }
  return wrong;
}

// A file with every key at its value, or else its default, and what it means: tables in the order of the
// keys.
inline std::string AnnotatedFile(const std::vector<config::ConfigKey>& keys) {
  constexpr std::size_t kCommentColumn = 25;
  std::vector<std::pair<std::string, std::string>> tables = {{"", ""}};
  for (const config::ConfigKey& key : keys) {
    const std::size_t dot = key.name.rfind('.');
    const std::string table = dot == std::string::npos ? "" : key.name.substr(0, dot);
    auto found = std::ranges::find(tables, table, &std::pair<std::string, std::string>::first);
    if (found == tables.end()) found = tables.emplace(tables.end(), table, fmt::format("\n[{}]\n", table));
    std::string line =
        fmt::format("{} = {}", key.name.substr(dot + 1), key.line > 0 ? key.given : key.default_value);
    const bool choice = key.type == "text" && !key.limits.empty();
    const std::string comment = choice ? fmt::format("{}; {}", key.limits, key.help) : key.help;
    if (!comment.empty()) line = fmt::format("{:<{}}# {}", line + " ", kCommentColumn, comment);
    found->second += line + "\n";
  }
  std::string text;
  for (const auto& [table, lines] : tables) text += lines;
  return text;
}

// What the comment of a key's line in an example says: what its reader does.
inline std::string CommentFor(const config::ConfigKey& key) {
  std::string comment = key.default_value.empty() ? "required; " : "";
  if (key.type == "text" && !key.limits.empty()) comment += key.limits + "; ";
  comment += key.help;
  // An example may show another value if it says what the default is.
  const bool said = key.default_value.empty() || comment.find("default") != std::string::npos;
  const bool required = comment.starts_with("required");
  if (!said && !required && key.given != key.default_value) comment += "; default: " + key.default_value;
  return comment + (key.hot ? "; SIGHUP reads it again" : "");
}

// The lines of an example whose comment is not what the reader says; with TRIBUTARY_WRITE_DOCS set, they are
// written.
inline std::vector<std::string> WrongComments(const std::string& path,
                                              const std::vector<config::ConfigKey>& keys) {
  constexpr std::size_t kCommentColumn = 31;
  std::vector<std::string> lines = absl::StrSplit(ReadExample(path), '\n');
  std::vector<std::string> wrong;
  for (const config::ConfigKey& key : keys) {
    if (key.line == 0) continue;
    std::string& line = lines[key.line - 1];
    const std::size_t hash = line.rfind("  # ");
    std::string wanted = line.substr(0, hash);
    wanted.erase(wanted.find_last_not_of(' ') + 1);
    const std::size_t column = std::max(kCommentColumn, wanted.size() + 2);
    wanted = fmt::format("{:<{}}# {}", wanted, column, CommentFor(key));
    if (line.substr(std::min(hash, line.size())) == wanted.substr(column - 2)) continue;
    wrong.push_back(fmt::format("line {}: {}", key.line, wanted));
    line = wanted;
  }
  if (wrong.empty() || std::getenv("TRIBUTARY_WRITE_DOCS") == nullptr) return wrong;
  std::ofstream(path) << absl::StrJoin(lines, "\n");
  return {};
}

// The keys as rows of a table of docs/configuration.md.
inline std::string KeyTable(const std::vector<config::ConfigKey>& keys) {
  std::string table = "| key | type | default | limits | meaning |\n|---|---|---|---|---|\n";
  const auto code = [](const std::string& what) { return what.empty() ? "" : fmt::format("`{}`", what); };
  for (const config::ConfigKey& key : keys) {
    table += fmt::format("| `{}` | {} | {} | {} | {} |\n", key.name, key.type,
                         key.default_value.empty() ? "required" : code(key.default_value), key.limits,
                         key.help + (key.hot ? "; SIGHUP reads it again" : ""));
  }
  return table;
}

// Whether a page holds this part between its markers. With TRIBUTARY_WRITE_DOCS set, writes the part there.
inline bool PageHolds(const std::string& page, const std::string& part, const std::string& content) {
  const std::string begin = fmt::format("<!-- begin {} -->\n", part),
                    end = fmt::format("<!-- end {} -->\n", part);
  std::string text = ReadExample(page);
  const std::size_t from = text.find(begin), to = text.find(end);
  if (from == std::string::npos || to == std::string::npos) return false;
  const std::size_t start = from + begin.size();
  if (text.substr(start, to - start) == content) return true;
  if (std::getenv("TRIBUTARY_WRITE_DOCS") == nullptr) return false;
  std::ofstream(page) << text.replace(start, to - start, content);
  return true;
}

}  // namespace tributary::testing
