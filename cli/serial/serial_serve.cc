// `tributary serial serve`: a beacon board on this machine.
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cli/commands.h"
#include "cli/evaluate/beacon_model.h"
#include "cli/serial/board_line.h"
#include "core/nn/beacon/beacon_network.h"
#include "core/runtime/clock.h"
#include "core/runtime/pseudo_terminal.h"
#include "core/runtime/serial_port.h"
#include "core/serial/session.h"
#include "core/status/macros.h"
#include "core/wire/json.h"
#include "node/accelerator/create.h"
#include "node/workload/beacon_board.h"

namespace tributary::cli {
namespace {

using namespace std::chrono_literals;

struct ServeArguments {
  LineArguments line;  // no port: a pseudo-terminal
  std::string model;
  fpga::NumberFormat format = fpga::NumberFormat::kInt16;
  bool json = false;
};

std::atomic<bool> ends = false;

void End(int) { ends = true; }

void PrintCounters(const serial::SessionCounters& c, bool json) {
  if (json) {
    std::cout << wire::DumpJson({{"computed_inputs", c.computed_inputs},
                                 {"weight_updates", c.weight_updates},
                                 {"retrainings", c.retrainings},
                                 {"kept_weights", c.kept_weights},
                                 {"noise", c.noise},
                                 {"out_of_range", c.out_of_range},
                                 {"timeouts", c.timeouts},
                                 {"refused", c.refused},
                                 {"ignored_bytes", c.ignored_bytes}})
              << "\n";
    return;
  }
  std::cout << fmt::format(
      "{} inputs computed, {} layers set, {} retrainings taken and {} not\nrefused: {} noise, {} out of "
      "range, {} "
      "timed out, {} by the board; {} bytes ignored\n",
      c.computed_inputs, c.weight_updates, c.retrainings, c.kept_weights, c.noise, c.out_of_range, c.timeouts,
      c.refused, c.ignored_bytes);
}

absl::Status ServeBoard(const ServeArguments& arguments) {
  ASSIGN_OR_RETURN(nn::BeaconNetwork read, ReadBeaconNetwork(arguments.model));
  const auto network = std::make_shared<nn::BeaconNetwork>(std::move(read));
  ASSIGN_OR_RETURN(const auto accelerator,
                   accelerator::CreateAccelerator(
                       {.format = arguments.format, .max_batch = serial::kMostInputs}, *network));
  const double step = arguments.format == fpga::NumberFormat::kInt16 ? 1 / serial::kWeightScale : 0;
  workload::BeaconBoard board(*accelerator, network, step);
  serial::Session session(board);

  std::optional<runtime::PseudoTerminal> terminal;
  std::string path = arguments.line.port;
  if (path.empty()) {
    ASSIGN_OR_RETURN(terminal, runtime::OpenPseudoTerminal());
    path = terminal->path;
  }
  // The session is at the terminal's master, programs at its device: a line that nobody has open is no error.
  std::unique_ptr<runtime::SerialPort> port;
  if (!terminal) {
    ASSIGN_OR_RETURN(port, runtime::SerialPort::Open(path, arguments.line.baud));
  } else {
    ASSIGN_OR_RETURN(port, runtime::SerialPort::Adopt(terminal->master.Release(), path));
  }
  for (const int number : {SIGINT, SIGTERM}) std::signal(number, End);
  std::cerr << fmt::format("a beacon board listens at {}\n", path);

  const runtime::SystemClock clock;
  std::string replies;
  absl::Status status;
  while (!ends && status.ok()) {
    const absl::StatusOr<std::string_view> bytes = port->Read(20ms);
    if (!bytes.ok()) {
      status = bytes.status();
      break;
    }
    replies.clear();
    session.Take(*bytes, clock.SteadyNs(), replies);
    session.Idle(clock.SteadyNs(), replies);
    if (!replies.empty()) status = port->Write(replies, 10s);
  }
  PrintCounters(session.counters(), arguments.json);
  return status;
}

}  // namespace

void AddSerialServeCommand(Commands& serial) {
  auto [command, arguments] =
      serial.Add<ServeArguments>("serve", "Be a beacon board: compute, take weights, learn", ServeBoard);
  AddLineOptions(command, arguments.line, "; without it a pseudo-terminal, whose name is printed")
      ->required(false);
  command.Text("--model", arguments.model, "FILE", "Beacon network")->required();
  command.Choice("--format", arguments.format,
                 {{"int16", fpga::NumberFormat::kInt16}, {"float", fpga::NumberFormat::kFloat}},
                 "Arithmetic: int16 is that of the programmable logic");
  command.Json(arguments.json, "Print the counts at the end as one JSON object");
  command.Examples(
      "Examples:\n  tributary serial serve --model beacon-1-4-6.safetensors\n  tributary serial serve "
      "--model "
      "beacon-1-4-6.safetensors --port /dev/ttyUSB0\n\nEnds at SIGINT or SIGTERM. docs/serial-line.md has "
      "the protocol.");
}

}  // namespace tributary::cli
