#include "core/serial/command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tributary::serial {
namespace {

std::string TextOf(const SetLayer& set) {
  return fmt::format("-{}\n{}\n", set.layer, fmt::join(set.weights, " "));
}

std::string TextOf(const Compute& compute) {
  std::string text = fmt::format("{}\n", compute.inputs.size());
  for (const Inputs& each : compute.inputs) text += fmt::format("{}\n", fmt::join(each, ","));
  return text;
}

std::string TextOf(const Retrain& retrain) {
  std::string text = fmt::format("0\n{}\n", retrain.samples.size());
  for (const Sample& each : retrain.samples) {
    text += fmt::format("{},{}\n", fmt::join(each.inputs, ","), fmt::join(each.targets, ","));
  }
  return text;
}

std::string TextOf(const AskVersion&) { return "?\n"; }

}  // namespace

std::string CommandText(const Command& command) {
  return std::visit([](const auto& each) { return TextOf(each); }, command);
}

}  // namespace tributary::serial
