#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/model/graph_session.h"
#include "cli/table.h"
#include "core/graph/session.h"
#include "core/nn/kernel/random_stream.h"
#include "core/status/context.h"
#include "core/status/macros.h"
#include "core/wire/json.h"
#include "core/wire/peer.h"

namespace tributary::cli {
namespace {

using nlohmann::ordered_json;

constexpr const char* kModelProfileExamples = R"(Examples:
  tributary model profile encoder.onnx                             where a run's time goes, node for node
  tributary model profile encoder.onnx --input images=images.npy --dimension N=4 --runs 100 --json
  tributary model profile encoder.onnx --accelerator tensor-model --clock-mhz 200   and the unit's latency at 200 MHz

Times are medians of repeated runs on one thread of this processor, and the range of the middle half of them. They move
with what else the machine does. An input that is not given is made of random numbers, or of zeros where it may be
indices. Quantised layers are timed one by one; IN AND OUT is what brings arrays to their form and back.

The tensor unit's cycles are counted, with its weights and arrays moved at 64 bits a cycle; USED is the share of its
multiply-accumulates. The times of its model are how long this processor imitates it, not those of a board.)";

struct ModelProfileArguments {
  GraphSessionArguments graph;
  std::uint32_t runs = 30;
  double clock_mhz = 0;
  bool json = false;
};

using MicrosecondsOfRuns = std::vector<double>;

// The value below which this part of the sorted values lies.
double ValueAt(const MicrosecondsOfRuns& sorted, double part) {
  return sorted[static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1) + 0.5)];
}

ordered_json SpreadOf(MicrosecondsOfRuns values) {
  std::ranges::sort(values);
  return {{"median", ValueAt(values, 0.5)},
          {"lower_quartile", ValueAt(values, 0.25)},
          {"upper_quartile", ValueAt(values, 0.75)}};
}

// Numbers that no kernel is quicker with than with others; zeros where they might be places in an array.
graph::Array MadeInput(const graph::Spec& spec) {
  graph::Array array(spec);
  nn::RandomStream random(1);
  if (spec.type == graph::ElementType::kFloat32) {
    for (float& value : array.As<float>()) value = static_cast<float>(random.Below(1 << 16)) / (1 << 15) - 1;
  } else if (graph::SizeOf(spec.type) == 1 && spec.type != graph::ElementType::kBool) {
    for (std::byte& value : array.bytes) value = static_cast<std::byte>(random.Bits() & 0xff);
  }
  return array;
}

// The times of repeated runs.
struct ProfiledRuns {
  MicrosecondsOfRuns whole;
  MicrosecondsOfRuns processor;            // what does not run on the accelerator
  std::vector<MicrosecondsOfRuns> pieces;  // by place in the session's times
};

absl::StatusOr<ProfiledRuns> RunOften(graph::Session& session, const std::vector<graph::View>& views,
                                      const std::vector<bool>& on_accelerator, std::uint32_t runs) {
  using Microseconds = std::chrono::duration<double, std::micro>;
  ProfiledRuns profiled;
  profiled.pieces.resize(on_accelerator.size());
  // The first run fetches code and constants.
  RETURN_IF_ERROR(session.Run(views));
  for (std::uint32_t run = 0; run < runs; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    RETURN_IF_ERROR(session.Run(views));
    profiled.whole.push_back(Microseconds(std::chrono::steady_clock::now() - begin).count());
    double processor = 0;
    for (std::size_t t = 0; t < session.times().size(); ++t) {
      const double took = Microseconds(session.times()[t]).count();
      profiled.pieces[t].push_back(took);
      if (!on_accelerator[t]) processor += took;
    }
    profiled.processor.push_back(processor);
  }
  return profiled;
}

// By place in the session's times.
std::vector<bool> TimesOnAccelerator(const graph::Session& session, const graph::SectionTarget* accelerator) {
  std::vector<bool> on_accelerator;
  for (const graph::RunPart& part : session.parts()) {
    on_accelerator.resize(part.time + 1);
    if (accelerator == nullptr || part.nodes.empty()) continue;
    on_accelerator[part.time] = session.nodes()[part.nodes[0]].runs_on == accelerator->name();
  }
  return on_accelerator;
}

// A part by what its nodes are; layers that share a time have it in their last.
ordered_json PartsOf(const graph::Session& session, const graph::SectionTarget* accelerator,
                     const ProfiledRuns& runs, double whole) {
  ordered_json list = ordered_json::array();
  const std::vector<graph::RunPart>& parts = session.parts();
  std::size_t sharing = 0;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    ordered_json entry;
    std::vector<std::string> operations;
    std::int64_t products = 0;
    std::uint64_t cycles = 0;
    for (const std::size_t place : parts[p].nodes) {
      const graph::NodeReport& node = session.nodes()[place];
      // A layer reads and gives integers: that goes without saying.
      const bool converts = node.operation == "QuantizeLinear" || node.operation == "DequantizeLinear";
      if (!converts || parts[p].nodes.size() == 1) operations.push_back(node.operation);
      products += node.products;
      cycles += node.cycles;
    }
    if (parts[p].nodes.empty()) {
      entry = {{"name", ""}, {"operations", "in and out"}, {"runs_on", "processor"}};
    } else {
      const graph::NodeReport& node = session.nodes()[parts[p].nodes[0]];
      entry = {{"name", node.name},
               {"operations", absl::StrJoin(operations, "+")},
               {"runs_on", node.runs_on},
               {"result", node.result}};
    }
    entry["multiply_accumulates"] = products;
    if (cycles != 0) {
      entry["cycles"] = cycles;
      entry["utilisation"] =
          ShareOf(static_cast<std::uint64_t>(products), cycles * accelerator->products_per_cycle());
    }
    ++sharing;
    if (p + 1 == parts.size() || parts[p + 1].time != parts[p].time) {
      entry["microseconds"] = SpreadOf(runs.pieces[parts[p].time]);
      entry["share_of_time"] = ShareOf(entry["microseconds"]["median"].get<double>(), whole);
      if (sharing > 1) entry["time_of_layers"] = sharing;
      sharing = 0;
    }
    list.push_back(std::move(entry));
  }
  return list;
}

ordered_json UnitOf(const ModelProfileArguments& arguments, const graph::Session& session,
                    const graph::SectionTarget& accelerator, const ProfiledRuns& runs) {
  ordered_json unit = AcceleratorShares(accelerator, session);
  unit["lanes"] = arguments.graph.lanes;
  unit["processor_microseconds"] = SpreadOf(runs.processor);
  if (arguments.clock_mhz > 0) {
    unit["clock_mhz"] = arguments.clock_mhz;
    unit["microseconds"] = static_cast<double>(session.accelerator().cycles) / arguments.clock_mhz;
  }
  return unit;
}

std::string SpreadText(const ordered_json& spread) {
  return absl::StrFormat("%.1f to %.1f", spread["lower_quartile"].get<double>(),
                         spread["upper_quartile"].get<double>());
}

void PrintUnit(const ordered_json& unit) {
  std::cout << AcceleratorText(unit);
  const double processor = unit["processor_microseconds"]["median"].get<double>();
  if (unit.contains("microseconds")) {
    std::cout << absl::StrFormat("at %g MHz these are %.1f us; the processor's nodes take %.1f us here\n",
                                 unit["clock_mhz"].get<double>(), unit["microseconds"].get<double>(),
                                 processor);
  } else {
    std::cout << absl::StrFormat(
        "the processor's nodes take %.1f us here; --clock-mhz gives the unit's time\n", processor);
  }
}

void PrintProfile(const ordered_json& profile) {
  const ordered_json& whole = profile["microseconds"];
  std::cout << absl::StrFormat("a run takes %.1f us: median of %d, half of them %s us\n",
                               whole["median"].get<double>(), profile["runs"].get<std::uint32_t>(),
                               SpreadText(whole));
  std::cout << absl::StrFormat("%d multiply-accumulates, %.1f MiB\n",
                               profile["multiply_accumulates"].get<std::int64_t>(),
                               profile["memory_bytes"].get<double>() / (1 << 20));
  if (profile.contains("accelerator")) PrintUnit(profile["accelerator"]);
  for (const auto& name : profile["made_inputs"]) {
    std::cout << "input " << wire::PeerText(name.get<std::string>()) << ": not given, made\n";
  }
  std::cout << "\n";
  Table table({Left("NODE"), Left("OPERATIONS"), Left("RUNS ON"), Right("MACS"), Right("US"),
               Right("MIDDLE HALF"), Right("SHARE"), Right("CYCLES"), Right("USED")});
  for (const auto& part : profile["parts"]) {
    std::string time, spread, share;
    if (part.contains("microseconds")) {
      time = absl::StrFormat("%.1f", part["microseconds"]["median"].get<double>());
      spread = SpreadText(part["microseconds"]);
      share = absl::StrFormat("%.1f %%", 100 * part["share_of_time"].get<double>());
      if (part.contains("time_of_layers"))
        time.insert(0, absl::StrFormat("%d layers: ", part["time_of_layers"].get<std::size_t>()));
    }
    const bool counted = part.contains("cycles");
    table.Add(part["name"].get<std::string>(), part["operations"].get<std::string>(),
              part["runs_on"].get<std::string>(), part["multiply_accumulates"].get<std::int64_t>(), time,
              spread, share, counted ? std::to_string(part["cycles"].get<std::uint64_t>()) : "",
              counted ? absl::StrFormat("%.1f %%", 100 * part["utilisation"].get<double>()) : "");
  }
  std::cout << table.Text();
}

absl::Status ProfileModel(const ModelProfileArguments& arguments) {
  if (arguments.graph.accelerator == GraphAccelerator::kCpu && arguments.clock_mhz > 0) {
    return UsageError("--clock-mhz is the clock of an --accelerator other than cpu");
  }
  ASSIGN_OR_RETURN(const GraphSession opened, OpenGraphSession(arguments.graph));
  const auto& [accelerator, session] = opened;
  std::vector<std::string> made;
  const auto make = [&made](const graph::PortReport& input) {
    made.push_back(input.name);
    return MadeInput(input.spec);
  };
  ASSIGN_OR_RETURN(const std::vector<graph::Array> inputs,
                   ReadGraphInputs(arguments.graph.inputs, *session, make));
  std::vector<graph::View> views;
  for (const graph::Array& array : inputs) views.push_back(array.view());
  session->KeepTimes();
  ASSIGN_OR_RETURN(const ProfiledRuns runs,
                   WithContext(arguments.graph.file,
                               RunOften(*session, views, TimesOnAccelerator(*session, accelerator.get()),
                                        arguments.runs)));
  ordered_json said = {{"file", arguments.graph.file},
                       {"runs", arguments.runs},
                       {"made_inputs", made},
                       {"microseconds", SpreadOf(runs.whole)},
                       {"multiply_accumulates", session->accelerator().all_products},
                       {"memory_bytes", session->memory_bytes()}};
  if (accelerator != nullptr) said["accelerator"] = UnitOf(arguments, *session, *accelerator, runs);
  said["parts"] = PartsOf(*session, accelerator.get(), runs, said["microseconds"]["median"].get<double>());
  if (arguments.json) {
    std::cout << wire::DumpJson(said) << "\n";
  } else {
    PrintProfile(said);
  }
  return absl::OkStatus();
}

}  // namespace

void AddModelProfileCommand(Commands& model) {
  auto [command, arguments] =
      model.Add<ModelProfileArguments>("profile", "Say where the time of an ONNX graph goes", ProfileModel);
  DeclareGraphSession(command, arguments.graph)->required();
  command.Texts("--input", arguments.graph.inputs, "NAME=FILE",
                "An input of the graph as .npy; others are made");
  command.Number("--runs", arguments.runs, "N", "How often the graph is run", {1, 100'000});
  command.Number("--clock-mhz", arguments.clock_mhz, "MHZ",
                 "Clock at which the unit's cycles are given as time (0 = none)", {0, 2'000});
  command.Json(arguments.json);
  command.Examples(kModelProfileExamples);
}

}  // namespace tributary::cli
