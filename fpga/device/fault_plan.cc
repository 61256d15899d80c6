#include "fpga/device/fault_plan.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "fmt/format.h"

namespace tributary::device {
namespace {

constexpr std::uint64_t kMaxFrameUs = 1'000'000;

absl::Status Apply(std::string_view name, std::optional<std::uint64_t> value, FaultPlan& plan) {
  struct Flag {
    std::string_view name;
    bool FaultPlan::*member;
  };
  static constexpr Flag kFlags[] = {{"no_device", &FaultPlan::no_device},
                                    {"no_permission", &FaultPlan::no_permission},
                                    {"wrong_uuid", &FaultPlan::wrong_uuid},
                                    {"slow_interrupt", &FaultPlan::slow_interrupt}};
  struct Run {
    std::string_view name;
    std::optional<std::uint64_t> FaultPlan::*member;
  };
  static constexpr Run kRuns[] = {{"hang", &FaultPlan::hang},
                                  {"hang_hard", &FaultPlan::hang_hard},
                                  {"hang_after", &FaultPlan::hang_after},
                                  {"read_error", &FaultPlan::read_error},
                                  {"write_error", &FaultPlan::write_error},
                                  {"disappear", &FaultPlan::disappear}};
  for (const Flag& flag : kFlags) {
    if (flag.name != name) continue;
    plan.*flag.member = true;
    return absl::OkStatus();
  }
  for (const Run& run : kRuns) {
    if (run.name != name) continue;
    plan.*run.member = value.value_or(1);
    return absl::OkStatus();
  }
  if (name == "frame_us" && value.has_value() && *value <= kMaxFrameUs) {
    plan.frame_us = *value;
    return absl::OkStatus();
  }
  if (name == "memory_bytes" && value.has_value()) {
    plan.memory_bytes = *value;
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(fmt::format("software device: no such fault: {}", name));
}

}  // namespace

absl::StatusOr<FaultPlan> FaultPlan::Parse(std::string_view text) {
  FaultPlan plan;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(','));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    const std::size_t equals = word.find('=');
    std::optional<std::uint64_t> value;
    if (equals != std::string_view::npos) {
      std::uint64_t number = 0;
      const std::string_view digits = word.substr(equals + 1);
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
      if (error != std::errc() || end != digits.data() + digits.size()) {
        return absl::InvalidArgumentError(fmt::format("software device: not a number: {}", word));
      }
      value = number;
    }
    if (const absl::Status applied = Apply(word.substr(0, equals), value, plan); !applied.ok())
      return applied;
  }
  return plan;
}

}  // namespace tributary::device
