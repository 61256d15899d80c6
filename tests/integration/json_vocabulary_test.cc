// Every JSON that daemons and commands print: messages against the schemas of docs/openapi.json, reports of
// commands against the tables of docs/api.md, in both directions.
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

const json& Schema(const std::string& name) {
  static const json document = json::parse(ReadText(TRIBUTARY_SOURCE_DIR "/docs/openapi.json"));
  return document["components"]["schemas"].at(name);
}

bool HasTypeOf(const json& value, const json& schema) {
  const std::string type = schema.at("type");
  if (type == "string" && schema.contains("enum")) {
    return std::ranges::find(schema["enum"], value) != schema["enum"].end();
  }
  return IsA(value, schema.contains("pattern") ? "int64" : type);
}

// Adds the paths of a value to `seen`, as in "runs[].name"; below a map there are no keys of ours.
void CheckSchema(const json& value, json schema, const std::string& path, std::set<std::string>& seen) {
  if (schema.contains("$ref")) {
    const std::string name = schema["$ref"];
    schema = Schema(name.substr(name.rfind('/') + 1));
  }
  ASSERT_TRUE(HasTypeOf(value, schema)) << path << " is not as in the schema: " << value;
  if (value.is_array()) {
    for (const json& each : value) CheckSchema(each, schema["items"], path + "[]", seen);
  }
  if (!value.is_object() || !schema.contains("properties")) return;
  for (const json& key : schema.value("required", json::array())) {
    EXPECT_TRUE(value.contains(key)) << path << " lacks " << key;
  }
  for (const auto& [key, child] : value.items()) {
    ASSERT_TRUE(schema["properties"].contains(key)) << path << "." << key << " is not in the schema";
    const std::string below = path.empty() ? key : path + "." + key;
    seen.insert(below);
    CheckSchema(child, schema["properties"][key], below, seen);
  }
}

// The paths of a document that is this message.
std::set<std::string> PathsOf(const std::string& message, const json& document) {
  SCOPED_TRACE(message);
  std::set<std::string> seen;
  CheckSchema(document, Schema(message), "", seen);
  return seen;
}

// These documents are the message, with the same keys.
void ExpectMessage(const std::string& message, const std::vector<json>& documents) {
  SCOPED_TRACE(message);
  ASSERT_FALSE(documents.empty());
  const std::set<std::string> first = PathsOf(message, documents.front());
  EXPECT_FALSE(first.empty());
  for (const json& each : documents) EXPECT_EQ(PathsOf(message, each), first);
}

// An aggregator, and a node with two panels that it fuses itself and with images to learn from: so that every
// key has a value.
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
        "node = \"board\"\nsite = \"room\"\n[uplink]\naggregator = \"" + Address() + "\"\nspool_dir = \"" +
        folder_.Path("spool") +
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

TEST_F(JsonVocabularyTest, SlotsAndNodesAreTheSameMessagesWhereverTheyArePrinted) {
  const std::string node_summary = folder_.Path("node.json"), watch_summary = folder_.Path("watch.json");
  Process node = Node(node_summary);
  json slot;
  ASSERT_TRUE(WaitFor([&] {
    slot = Get("/api/v1/sites/room");
    return slot.is_object() && !slot["slot"]["velocities"].empty();
  })) << slot
      << node.Log();

  std::vector<json> slots = Lines(Run({"watch", "room", "--json", "--rate", "20", "--seconds", "0.5",
                                       "--truth", "room:seed=1", "--summary", watch_summary}));
  slots.push_back(slot);
  slots.push_back(
      json::parse(HttpFirstEvent(aggregator_.http_port(), "/api/v1/events?site=room"), nullptr, false));
  ExpectMessage("WatchResponse", slots);
  ExpectMessage("ListSitesResponse", {Get("/api/v1/sites")});
  ExpectMessage("ListNodesResponse",
                {Get("/api/v1/nodes"), json::parse(Run({"status", "--json"}), nullptr, false)});
  // This site has positions, not classes.
  ExpectAsOnThePage("Watch summary", Lines(ReadText(watch_summary)),
                    {"accuracy", "nll", "votes", "voted_accuracy"});
  node.Signal(SIGTERM);
  ASSERT_EQ(node.Wait(std::chrono::seconds(30)), 0) << node.Log();
  // This node has no front end, which UdpNodeTest has, and neither board nor graph.
  ExpectAsOnThePage(
      "Node summary", Lines(ReadText(node_summary)),
      {"udp", "udp.datagrams", "udp.unused_datagrams", "udp.unused_datagrams_by_reason", "udp.lost_subjects",
       "udp.lost_slots", "udp.kernel_drops", "device", "device.accelerator_runs",
       "device.accelerator_failed_runs", "device.accelerator_timeouts", "device.accelerator_reopened",
       "device.accelerator_fallback_batches", "device.accelerator_cycles", "device.graph_nodes",
       "device.graph_delegated_nodes", "device.graph_products", "device.graph_delegated_products",
       "learner.device"});
}

TEST_F(JsonVocabularyTest, RunsAndModelsAreTheSameMessagesWhereverTheyArePrinted) {
  const std::string file = folder_.Write(
      "run.toml",
      "name = \"r\"\nrounds = 2\nmin_nodes = 1\nquorum = 1\n[client]\nlocal_steps = 1\nbatch = 4\n");
  ExpectMessage("StartRunResponse", {json::parse(Run({"run", "start", file, "--json"}), nullptr, false)});
  ExpectMessage("PauseRunResponse", {json::parse(Run({"run", "pause", "r", "--json"}), nullptr, false)});
  ExpectMessage("ResumeRunResponse", {json::parse(Run({"run", "resume", "r", "--json"}), nullptr, false)});
  Process node = Node(folder_.Path("node.json"));
  const std::vector<json> watched = Lines(Run({"run", "watch", "r", "--json"}));
  ASSERT_FALSE(watched.empty()) << node.Log();
  std::set<std::string> paths;
  for (const json& each : watched) paths.merge(PathsOf("WatchRunResponse", each));
  EXPECT_TRUE(paths.contains("rounds[].contributions[].seconds")) << "a line with a round was checked";

  const json shown = json::parse(Run({"run", "show", "r", "--json"}), nullptr, false);
  ExpectMessage("GetRunResponse", {shown, Get("/api/v1/runs/r")});
  EXPECT_TRUE(PathsOf("GetRunResponse", shown).contains("participants[].node"));
  ExpectMessage("ListRunsResponse",
                {json::parse(Run({"run", "list", "--json"}), nullptr, false), Get("/api/v1/runs")});
  ExpectMessage("ListModelsResponse", {json::parse(Run({"model", "list", "--json"}), nullptr, false)});
  ExpectMessage("RollBackModelResponse",
                {json::parse(Run({"model", "rollback", "r", "1", "--json"}), nullptr, false)});
}

TEST_F(JsonVocabularyTest, EveryFaultOverHttpIsTheSameObject) {
  std::vector<json> bodies;
  const std::map<std::string, int> faults = {{"/no/such/page", 404},
                                             {"/api/v1/sites/nope", 404},
                                             {"/api/v1/nodes?site=nope", 404},
                                             {"/api/v1/events?site=nope", 404},
                                             {"/api/v1/runs/nope", 404},
                                             {"/api/v1/events?site=room&rate_hz=0", 400},
                                             {"/api/v1/runs/r?rounds=many", 400},
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

TEST_F(JsonVocabularyTest, ConflateReadsAndPrintsTheKeysOfClassesOnThePage) {
  json line = {{"site", "a"},
               {"epoch", "7"},
               {"subject", 1},
               {"source", "p"},
               {"classes", {"BPSK", "QPSK"}},
               {"log_probabilities", {0, -1e30}}};
  ExpectAsOnThePage("Classes to conflate", {line});
  const auto [exit_code, printed] = Conflate(line);
  EXPECT_EQ(exit_code, 0);
  ExpectAsOnThePage("Conflated classes", Lines(printed));
  line.erase("classes");
  EXPECT_EQ(Conflate(line).first, 0) << "names are optional";
  line.erase("log_probabilities");
  EXPECT_EQ(Conflate(line).first, 65);
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
