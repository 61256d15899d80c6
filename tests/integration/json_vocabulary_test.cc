// The JSON of every daemon and command against the tables of docs/api.md, in both directions.
#include <gtest/gtest.h>
#include <stdio.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/fleet.h"
#include "tests/support/http.h"
#include "tests/support/learners.h"

namespace tributary::testing {
namespace {

using nlohmann::json;

// "estimates[].mean" → "array of number".
using Table = std::map<std::string, std::string>;

std::string Trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" `");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" `") - first + 1);
}

// The table below "### HEADING" of the page.
Table Documented(const std::string& heading) {
  static const std::string page = ReadText(TRIBUTARY_SOURCE_DIR "/docs/api.md");
  Table table;
  std::istringstream lines(page.substr(std::min(page.find("\n### " + heading + "\n"), page.size())));
  std::string line;
  std::getline(lines, line);
  std::getline(lines, line);
  while (std::getline(lines, line) && !line.starts_with("#")) {
    if (!line.starts_with("| `")) continue;
    std::istringstream cells(line.substr(1));
    std::string key, type;
    std::getline(cells, key, '|');
    std::getline(cells, type, '|');
    table[Trimmed(key)] = Trimmed(type);
  }
  return table;
}

bool IsA(const json& value, const std::string& type) {
  const std::string array = "array of ", map = "map of ";
  if (type.starts_with(array) || type.starts_with(map)) {
    const bool is_array = type.starts_with(array);
    const std::string inner = type.substr((is_array ? array : map).size());
    return (is_array ? value.is_array() : value.is_object()) &&
           std::ranges::all_of(value, [&](const json& each) { return IsA(each, inner); });
  }
  if (type == "int64") {
    if (!value.is_string()) return false;
    const std::string digits = value;
    return !digits.empty() && std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
  }
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "array") return value.is_array();
  return type == "object" && value.is_object();
}

// Adds the paths of a document to `seen`; below a map there are no keys of ours.
void Check(const json& value, const std::string& prefix, const Table& table, std::set<std::string>& seen) {
  for (const auto& [key, child] : value.items()) {
    const std::string path = prefix + key;
    const auto row = table.find(path);
    if (row == table.end()) {
      ADD_FAILURE() << path << " is printed and not on the page";
      continue;
    }
    seen.insert(path);
    EXPECT_TRUE(IsA(child, row->second)) << path << " is not " << row->second << ": " << child;
    if (row->second == "object") Check(child, path + ".", table, seen);
    if (row->second != "array") continue;
    for (const json& each : child) Check(each, path + "[].", table, seen);
  }
}

// `rare`: keys that this test cannot produce.
void ExpectAsInTable(const std::string& heading, const Table& table, const std::vector<json>& documents,
                     const std::set<std::string>& rare = {}) {
  SCOPED_TRACE(heading);
  ASSERT_FALSE(table.empty());
  ASSERT_FALSE(documents.empty());
  std::set<std::string> seen;
  for (const json& each : documents) {
    ASSERT_TRUE(each.is_object()) << each;
    Check(each, "", table, seen);
  }
  for (const auto& [path, type] : table) {
    EXPECT_TRUE(seen.contains(path) || rare.contains(path)) << path << " is on the page and not printed";
  }
}

void ExpectAsOnThePage(const std::string& heading, const std::vector<json>& documents,
                       const std::set<std::string>& rare = {}) {
  ExpectAsInTable(heading, Documented(heading), documents, rare);
}

std::vector<json> Lines(const std::string& text) {
  std::vector<json> documents;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) documents.push_back(json::parse(line, nullptr, false));
  return documents;
}

std::set<std::string> Paths(const json& slot, const Table& table) {
  std::set<std::string> seen;
  Check(slot, "", table, seen);
  return seen;
}

// An aggregator, and a node that fuses its two panels and has images to learn from: so every key has a value.
class JsonVocabularyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    aggregator_.Start();
    ASSERT_TRUE(aggregator_.Ready()) << aggregator_.process().Log();
  }

  std::string Address() const { return "127.0.0.1:" + std::to_string(aggregator_.ingest_port()); }
  json Get(const std::string& target) const { return json::parse(aggregator_.Get(target), nullptr, false); }

  Process Node(const std::string& summary) {
    std::string config =
        "node = \"board\"\nsite = \"room\"\n[uplink]\naggregator = \"" + Address() +
        "\"\n[http]\nlisten = \"\"\n[fusion]\n[federation]\nimages = \"glyphs\"\nglyphs = 20\n";
    for (const auto& [wall, turned] : {std::pair{"south", 0}, {"east", 90}}) {
      config += std::string("[[panel]]\nname = \"") + wall + "\"\nworkload = \"positioning\"\nmodel = \"" +
                TRIBUTARY_SOURCE_DIR +
                "/models/positioning.safetensors\"\norientation_deg = " + std::to_string(turned) +
                ".0\n[panel.source]\nkind = \"room\"\nseed = 1\nsubjects = 2\nrate_hz = 50.0\n";
    }
    return Process("tributary-node", {"--config", folder_.Write("node.toml", config), "--summary", summary},
                   folder_.Path("node.log"));
  }

  // Standard output and standard error of a command that connects.
  std::string Run(std::vector<std::string> arguments) {
    const std::string log = folder_.Path("said-" + std::to_string(commands_++));
    arguments.insert(arguments.end(), {"--aggregator", Address()});
    Process command("tributary", arguments, log);
    EXPECT_NE(command.Wait(std::chrono::seconds(60)), -1);
    return command.Log();
  }

  // A line for `tributary conflate`; its exit code and what it prints.
  std::pair<int, std::string> Conflate(const json& line) {
    const std::string in = folder_.Write("estimates.jsonl", line.dump() + "\n");
    const std::string command = std::string(TRIBUTARY_BIN_DIR) + "/tributary conflate 2>/dev/null < " + in;
    FILE* pipe = ::popen(command.c_str(), "r");
    std::string text;
    for (int c; (c = std::fgetc(pipe)) != EOF;) text += static_cast<char>(c);
    return {WEXITSTATUS(::pclose(pipe)), text};
  }

  ScratchFolder folder_;
  AggregatorProcess aggregator_{
      folder_, "aggregator", {"south", "east"}, FederationKeys(folder_), "track = true\n"};
  int commands_ = 0;
};

TEST_F(JsonVocabularyTest, RecordsAndSummariesAreAsOnThePageAndEqualWhereverTheyArePrinted) {
  const std::string node_summary = folder_.Path("node.json"), watch_summary = folder_.Path("watch.json");
  Process node = Node(node_summary);
  json slot;
  ASSERT_TRUE(WaitFor([&] {
    slot = Get("/api/v1/sites/room");
    return slot.is_object() && !slot["estimates"].empty() && slot["estimates"][0].contains("velocity");
  })) << slot
      << node.Log();

  const json event =
      json::parse(HttpFirstEvent(aggregator_.http_port(), "/api/v1/events?site=room"), nullptr, false);
  const std::vector<json> watched = Lines(Run({"watch", "room", "--json", "--rate", "20", "--seconds", "0.5",
                                               "--truth", "room:seed=1", "--summary", watch_summary}));
  ExpectAsOnThePage("Slot", {slot, event});
  Table line = Documented("Slot");
  line.merge(Documented("Watch line"));
  ASSERT_FALSE(watched.empty());
  ExpectAsInTable("Watch line", line, watched);
  // The same keys, except those of the reader.
  std::set<std::string> keys = Paths(watched.front(), line);
  for (const auto& [path, type] : Documented("Watch line")) EXPECT_EQ(keys.erase(path), 1u) << path;
  EXPECT_EQ(keys, Paths(slot, Documented("Slot")));
  EXPECT_EQ(keys, Paths(event, Documented("Slot")));

  ExpectAsOnThePage("Sites", {Get("/api/v1/sites")});
  ExpectAsOnThePage("Nodes", {Get("/api/v1/nodes"), json::parse(Run({"status", "--json"}), nullptr, false)});
  ExpectAsOnThePage("Watch summary", Lines(ReadText(watch_summary)));
  node.Signal(SIGTERM);
  ASSERT_EQ(node.Wait(std::chrono::seconds(30)), 0) << node.Log();
  // This node has no front end; UdpNodeTest does.
  ExpectAsOnThePage("Node summary", Lines(ReadText(node_summary)),
                    {"udp", "udp.datagrams", "udp.unused_datagrams", "udp.unused_datagrams_by_reason",
                     "udp.lost_subjects", "udp.lost_slots", "udp.kernel_drops"});
}

TEST_F(JsonVocabularyTest, EveryFaultOverHttpIsTheSameObject) {
  std::vector<json> bodies;
  const std::map<std::string, int> faults = {{"/no/such/page", 404},
                                             {"/api/v1/sites/nope", 404},
                                             {"/api/v1/nodes?site=nope", 404},
                                             {"/api/v1/events?site=nope", 404},
                                             {"/api/v1/runs/nope", 404},
                                             {"/api/v1/events?site=room&rate_hz=0", 400},
                                             {"/%zz", 400}};
  for (const auto& [target, status] : faults) {
    const HttpAnswer answer = HttpAsk(aggregator_.http_port(), target);
    EXPECT_EQ(answer.status, status) << target;
    EXPECT_EQ(answer.content_type, "application/json") << target;
    bodies.push_back(json::parse(answer.body, nullptr, false));
  }
  ExpectAsOnThePage("Error", bodies);
  EXPECT_NE(HttpAsk(aggregator_.http_port(), "/api/v1/sites/nope").body.find("which has room"),
            std::string::npos);
}

TEST_F(JsonVocabularyTest, ConflateReadsAndPrintsTheKeysOfThePage) {
  const json line = {{"site", "a"},   {"epoch", "7"},   {"subject", 1},
                     {"source", "p"}, {"mean", {1, 2}}, {"scale_tril", {1, 0, 1}}};
  ExpectAsOnThePage("Estimate to conflate", {line});
  const auto [exit_code, printed] = Conflate(line);
  EXPECT_EQ(exit_code, 0);
  ExpectAsOnThePage("Conflated estimate", Lines(printed));
  // Each of these keys is needed.
  for (const auto& [key, value] : line.items()) {
    json without = line;
    without.erase(key);
    EXPECT_EQ(Conflate(without).first, 65) << key;
  }
}

TEST_F(JsonVocabularyTest, ReportsOfCommandsAreAsOnThePage) {
  ExpectAsOnThePage("Doctor report", {json::parse(Run({"doctor", "--json"}), nullptr, false)});
  // With an aggregator of its own: its memory and time are known.
  Process load("tributary", {"load", "--json", "--rate", "20", "--users", "2", "--seconds", "0.5"},
               folder_.Path("load.log"));
  ASSERT_NE(load.Wait(std::chrono::seconds(60)), -1);
  ExpectAsOnThePage("Load report", {json::parse(load.Log(), nullptr, false)}, {"first_refusal"});
}

}  // namespace
}  // namespace tributary::testing
