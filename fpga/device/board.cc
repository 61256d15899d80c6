#include "fpga/device/board.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "fmt/format.h"
#include "fpga/model/kernel_interface.h"

namespace tributary::device {
namespace {

constexpr std::uint64_t kMaxFrameUs = 1'000'000;

using Fault = std::pair<std::string_view, std::optional<std::uint64_t> FaultPlan::*>;
constexpr Fault kFaults[] = {{"no_device", &FaultPlan::no_device},
                             {"no_permission", &FaultPlan::no_permission},
                             {"wrong_uuid", &FaultPlan::wrong_uuid},
                             {"slow_interrupt", &FaultPlan::slow_interrupt},
                             {"hang", &FaultPlan::hang},
                             {"hang_hard", &FaultPlan::hang_hard},
                             {"hang_after", &FaultPlan::hang_after},
                             {"read_error", &FaultPlan::read_error},
                             {"write_error", &FaultPlan::write_error},
                             {"disappear", &FaultPlan::disappear},
                             {"frame_us", &FaultPlan::frame_us},
                             {"memory_bytes", &FaultPlan::memory_bytes}};

// kernel:instance by address: XRT numbers the compute units in this order.
std::multimap<std::uint64_t, std::string> InstancesOf(const axlf& image) {
  if (std::memcmp(image.m_magic, "xclbin2", 8) != 0) Throw(EINVAL, "not an xclbin");
  const axlf_section_header* section = xclbin::get_axlf_section(&image, IP_LAYOUT);
  if (section == nullptr) Throw(EINVAL, "the xclbin has no compute units");
  const auto* layout =
      reinterpret_cast<const ip_layout*>(reinterpret_cast<const char*>(&image) + section->m_sectionOffset);
  std::multimap<std::uint64_t, std::string> instances;
  for (int i = 0; i < layout->m_count; ++i) {
    const ip_data& ip = layout->m_ip_data[i];
    if (ip.m_type != IP_KERNEL) continue;
    const char* name = reinterpret_cast<const char*>(ip.m_name);
    instances.emplace(ip.m_base_address, std::string(name, strnlen(name, sizeof(ip.m_name))));
  }
  return instances;
}

}  // namespace

void Throw(int error, const std::string& text) {
  throw std::system_error(error, std::generic_category(), text);
}

absl::StatusOr<FaultPlan> FaultPlan::Parse(const std::string& text) {
  FaultPlan plan;
  for (const std::string& word : std::vector<std::string>(absl::StrSplit(text, ',', absl::SkipEmpty()))) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const auto* fault = std::ranges::find(kFaults, word.substr(0, equals), &Fault::first);
    if (fault == std::end(kFaults)) {
      return absl::InvalidArgumentError(fmt::format("software device: no such fault: {}", word));
    }
    std::uint64_t& value = (plan.*fault->second).emplace(1);
    if (equals < word.size() && !absl::SimpleAtoi(word.substr(equals + 1), &value)) {
      return absl::InvalidArgumentError(fmt::format("software device: not a number: {}", word));
    }
  }
  if (plan.frame_us > kMaxFrameUs) {
    return absl::InvalidArgumentError(fmt::format("software device: frame_us is at most {}", kMaxFrameUs));
  }
  return plan;
}

void Board::Check() const {
  const std::scoped_lock lock(mutex_);
  if (gone_) Throw(ENODEV, "the software device has disappeared");
}

void Board::Load(const axlf& image) {
  Check();
  const auto instances = InstancesOf(image);
  const std::scoped_lock lock(mutex_);
  Uuid uuid;
  std::memcpy(uuid.data(), image.m_header.uuid, uuid.size());
  if (loaded_ && uuid == uuid_) return;
  if (!uses_.empty()) Throw(EBUSY, "another xclbin is in use");
  // If a file cannot be loaded, the board stays as it was.
  std::vector<std::unique_ptr<ComputeUnit>> units;
  for (const auto& [address, name] : instances) {
    std::unique_ptr<KernelModel> kernel = MakeKernel(name.substr(0, name.find(':')), &memory_);
    if (kernel == nullptr) Throw(ENOENT, fmt::format("the software device has no kernel for {}", name));
    units.push_back(std::make_unique<ComputeUnit>(std::move(kernel)));
  }
  units_ = std::move(units);
  loaded_ = true;
  uuid_ = uuid;
  if (faults_.wrong_uuid) uuid_[0] ^= 0xff;
}

void Board::OpenContext(const Uuid& xclbin, std::uint32_t unit, bool shared) {
  Check();
  const std::scoped_lock lock(mutex_);
  if (!loaded_ || xclbin != uuid_) Throw(EINVAL, "the board holds an xclbin with another UUID");
  const auto use = uses_.find(unit);
  if (use != uses_.end() && (use->second.exclusive || !shared)) {
    Throw(EBUSY, "the compute unit is in use");
  }
  uses_[unit].users += 1;
  uses_[unit].exclusive = !shared;
}

void Board::CloseContext(std::uint32_t unit) {
  const std::scoped_lock lock(mutex_);
  const auto use = uses_.find(unit);
  if (use != uses_.end() && --use->second.users == 0) uses_.erase(use);
}

std::chrono::microseconds Board::HoldOf(const KernelRun& run) const {
  // The time in which XRT's driver notices the end of a run by its timer, without an interrupt.
  if (faults_.slow_interrupt) return std::chrono::milliseconds(500);
  constexpr std::size_t kFramesWord = fpga::kKernelArguments[fpga::kFramesArgument].offset / 4;
  if (run.registers.size() <= kFramesWord) return {};
  return std::chrono::microseconds(faults_.frame_us.value_or(0) * run.registers[kFramesWord]);
}

void Board::Start(std::span<const std::uint32_t> unit_mask, KernelRun run) {
  Check();
  ComputeUnit* chosen = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    ++runs_;
    const auto since = [this](const std::optional<std::uint64_t>& first) { return first && runs_ >= *first; };
    gone_ = since(faults_.disappear);
    run.hang = faults_.hang == runs_ || since(faults_.hang_after);
    run.hang_hard = faults_.hang_hard == runs_;
    run.read_error = faults_.read_error == runs_;
    run.write_error = faults_.write_error == runs_;
    run.hold = HoldOf(run);
    for (std::size_t i = 0; i < units_.size() && i < 32 * unit_mask.size(); ++i) {
      if ((unit_mask[i / 32] >> (i % 32) & 1) == 0) continue;
      if (chosen == nullptr || units_[i]->load() < chosen->load()) chosen = units_[i].get();
    }
  }
  Check();
  if (chosen == nullptr) Throw(EINVAL, "the packet names no compute unit");
  chosen->Start(std::move(run));
}

void Board::Abort(const void* client, std::optional<std::uint32_t> packet) {
  for (const std::unique_ptr<ComputeUnit>& each : units_) each->Abort(client, packet);
}

ComputeUnit& Board::unit(std::uint32_t index) {
  Check();
  const std::scoped_lock lock(mutex_);
  if (index >= units_.size()) Throw(EINVAL, fmt::format("no compute unit {}", index));
  return *units_[index];
}

}  // namespace tributary::device
