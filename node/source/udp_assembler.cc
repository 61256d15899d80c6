#include "node/source/udp_assembler.h"

#include <algorithm>
#include <utility>

namespace tributary::source {

std::optional<UdpRefusal> UdpAssembler::Add(std::span<const std::byte> datagram, std::int64_t now_unix_ns) {
  std::variant<UdpFragment, UdpRefusal> decoded = DecodeUdpFragment(datagram);
  if (UdpRefusal* refusal = std::get_if<UdpRefusal>(&decoded)) return std::move(*refusal);
  const UdpFragment& fragment = std::get<UdpFragment>(decoded);
  if (std::optional<UdpRefusal> refusal = Check(fragment, now_unix_ns)) return refusal;
  Slot* slot = SlotFor(fragment);
  if (slot == nullptr) {
    return Refuse(UdpFault::kLate, "epoch {}: {} newer slots are open", fragment.epoch, kOpenSlots);
  }
  std::optional<UdpRefusal> refusal = Store(*slot, fragment);
  if (slot->complete == slot->expected) GiveOutThrough(fragment.epoch);
  return refusal;
}

bool UdpAssembler::NearSlot(std::int64_t unix_ns, estimate::Epoch epoch) const {
  return unix_ns - options_.slot.EndNs(epoch) < kMaxDistanceNs &&
         options_.slot.StartNs(epoch) - unix_ns <= kMaxDistanceNs;
}

std::optional<UdpRefusal> UdpAssembler::Check(const UdpFragment& fragment, std::int64_t now_unix_ns) const {
  if (fragment.panel != options_.panel) {
    return Refuse(UdpFault::kPanel, "found {}, expected {}", fragment.panel, options_.panel);
  }
  if (fragment.width != options_.width) {
    return Refuse(UdpFault::kWidth, "found {}, expected {}", fragment.width, options_.width);
  }
  if (fragment.subjects > options_.max_subjects) {
    return Refuse(UdpFault::kSubjects, "found {}, max_subjects is {}", fragment.subjects,
                  options_.max_subjects);
  }
  const std::int64_t now_ns = std::max<std::int64_t>(now_unix_ns, 0);
  if (!NearSlot(now_ns, fragment.epoch)) {
    return Refuse(UdpFault::kEpoch, "found {}, this machine's clock says {}; a slot may be {} s away",
                  fragment.epoch, options_.slot.EpochAt(now_ns), kMaxDistanceNs / 1'000'000'000);
  }
  if (fragment.captured_unix_ns < 0 || !NearSlot(fragment.captured_unix_ns, fragment.epoch)) {
    return Refuse(UdpFault::kCaptured, "found {} ns, epoch {} begins at {} ns; its slot may be {} s away",
                  fragment.captured_unix_ns, fragment.epoch, options_.slot.StartNs(fragment.epoch),
                  kMaxDistanceNs / 1'000'000'000);
  }
  if (fragment.epoch <= last_epoch_) {
    return Refuse(UdpFault::kLate, "epoch {}, {} has been handed on", fragment.epoch, last_epoch_);
  }
  return std::nullopt;
}

// The slot of the fragment's epoch, opened if need be; null if all open slots are newer and there is no
// place.
UdpAssembler::Slot* UdpAssembler::SlotFor(const UdpFragment& fragment) {
  if (const auto found = open_.find(fragment.epoch); found != open_.end()) return &found->second;
  if (open_.size() == kOpenSlots) {
    if (fragment.epoch < open_.begin()->first) return nullptr;
    GiveOutThrough(open_.begin()->first);
  }
  Slot& slot = open_[fragment.epoch];
  slot.frame.epoch = fragment.epoch;
  slot.frame.captured_unix_ns = fragment.captured_unix_ns;
  slot.frame.features.reserve(std::size_t{fragment.subjects} * options_.width);
  slot.expected = fragment.subjects;
  return &slot;
}

std::optional<UdpRefusal> UdpAssembler::Store(Slot& slot, const UdpFragment& fragment) {
  if (slot.expected != fragment.subjects) {
    return Refuse(UdpFault::kSubjects, "found {}, other datagrams of the slot say {}", fragment.subjects,
                  slot.expected);
  }
  SensorFrame& frame = slot.frame;
  const auto row =
      static_cast<std::size_t>(std::ranges::find(frame.subjects, fragment.subject) - frame.subjects.begin());
  if (row == slot.expected) {
    return Refuse(UdpFault::kSubjects, "subject {} is one more than the {} announced", fragment.subject,
                  slot.expected);
  }
  if (row == frame.subjects.size()) {
    frame.subjects.push_back(fragment.subject);
    frame.features.resize(frame.features.size() + options_.width);
    slot.present.resize(frame.features.size());
    slot.received.push_back(0);
  }
  const std::size_t first = row * options_.width + fragment.first;
  const auto present = std::span(slot.present).subspan(first, fragment.count);
  if (std::ranges::any_of(present, [](char p) { return p != 0; })) {
    return Refuse(UdpFault::kDuplicate, "epoch {} subject {} from feature {}", fragment.epoch,
                  fragment.subject, fragment.first);
  }
  if (!fragment.CopyFeatures(&frame.features[first])) {
    return Refuse(UdpFault::kNotFinite, "epoch {} subject {}", fragment.epoch, fragment.subject);
  }
  std::ranges::fill(present, 1);
  slot.received[row] += fragment.count;
  if (slot.received[row] == options_.width) ++slot.complete;
  return std::nullopt;
}

void UdpAssembler::GiveOutThrough(estimate::Epoch epoch) {
  while (!open_.empty() && open_.begin()->first <= epoch) {
    Slot& slot = open_.begin()->second;
    last_epoch_ = slot.frame.epoch;
    losses_.lost_subjects += slot.expected - slot.complete;
    if (slot.complete == 0) {
      ++losses_.lost_slots;
    } else {
      RemoveIncomplete(slot);
      ready_.push_back(std::move(slot.frame));
    }
    open_.erase(open_.begin());
  }
}

void UdpAssembler::RemoveIncomplete(Slot& slot) const {
  if (slot.complete == slot.received.size()) return;
  SensorFrame complete{.epoch = slot.frame.epoch,
                       .captured_unix_ns = slot.frame.captured_unix_ns,
                       .subjects = {},
                       .features = {}};
  for (std::size_t row = 0; row < slot.received.size(); ++row) {
    if (slot.received[row] != options_.width) continue;
    complete.subjects.push_back(slot.frame.subjects[row]);
    const auto features = std::span(slot.frame.features).subspan(row * options_.width, options_.width);
    complete.features.insert(complete.features.end(), features.begin(), features.end());
  }
  slot.frame = std::move(complete);
}

bool UdpAssembler::Take(SensorFrame& frame) {
  if (ready_.empty()) return false;
  frame = std::move(ready_.front());
  ready_.pop_front();
  return true;
}

}  // namespace tributary::source
