#include "node/source/udp_assembler.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tributary::source {

UdpAssembler::UdpAssembler(const UdpAssemblerOptions& options) : options_(options), slots_(kOpenSlots) {}

std::optional<UdpRefusal> UdpAssembler::Check(const UdpFragment& fragment, std::int64_t now_unix_ns) const {
  if (fragment.panel != options_.panel) {
    return UdpRefusal{UdpFault::kPanel, fmt::format("found {}, expected {}", fragment.panel, options_.panel)};
  }
  if (fragment.width != options_.width) {
    return UdpRefusal{UdpFault::kWidth, fmt::format("found {}, expected {}", fragment.width, options_.width)};
  }
  if (fragment.subjects > options_.max_subjects) {
    return UdpRefusal{UdpFault::kSubjects,
                      fmt::format("found {}, max_subjects is {}", fragment.subjects, options_.max_subjects)};
  }
  const std::int64_t now_ns = std::max<std::int64_t>(now_unix_ns, 0);
  if (now_ns - options_.slot.EndNs(fragment.epoch) >= kMaxDistanceNs ||
      options_.slot.StartNs(fragment.epoch) - now_ns > kMaxDistanceNs) {
    return UdpRefusal{
        UdpFault::kEpoch,
        fmt::format("found {}, this machine's clock says {}; a slot may be {} s away", fragment.epoch,
                    options_.slot.EpochAt(now_ns), kMaxDistanceNs / 1'000'000'000)};
  }
  if (fragment.epoch <= last_epoch_) {
    return UdpRefusal{UdpFault::kLate,
                      fmt::format("epoch {}, {} has been handed on", fragment.epoch, last_epoch_)};
  }
  return std::nullopt;
}

std::optional<UdpRefusal> UdpAssembler::Add(std::span<const std::byte> datagram, std::int64_t now_unix_ns) {
  std::variant<UdpFragment, UdpRefusal> decoded = DecodeUdpFragment(datagram);
  if (UdpRefusal* refusal = std::get_if<UdpRefusal>(&decoded)) return std::move(*refusal);
  const UdpFragment& fragment = std::get<UdpFragment>(decoded);
  if (std::optional<UdpRefusal> refusal = Check(fragment, now_unix_ns)) return refusal;
  return Place(fragment);
}

std::optional<UdpRefusal> UdpAssembler::Place(const UdpFragment& fragment) {
  Slot* slot = SlotFor(fragment);
  if (slot == nullptr) {
    return UdpRefusal{UdpFault::kLate,
                      fmt::format("epoch {}: {} newer slots are open", fragment.epoch, kOpenSlots)};
  }
  if (slot->expected != fragment.subjects) {
    return UdpRefusal{UdpFault::kSubjects, fmt::format("found {}, other datagrams of the slot say {}",
                                                       fragment.subjects, slot->expected)};
  }
  Subject* subject = SubjectFor(*slot, fragment.subject);
  if (subject == nullptr) {
    return UdpRefusal{UdpFault::kSubjects, fmt::format("subject {} is one more than the {} announced",
                                                       fragment.subject, slot->expected)};
  }
  std::optional<UdpRefusal> refusal = Store(*slot, *subject, fragment);
  if (slot->complete == slot->expected) GiveOutThrough(slot->epoch);
  return refusal;
}

// The slot of the fragment's epoch, opened if need be; null if all open slots are newer and there is no
// place.
UdpAssembler::Slot* UdpAssembler::SlotFor(const UdpFragment& fragment) {
  const auto place = [this](estimate::Epoch epoch) { return std::ranges::find(slots_, epoch, &Slot::epoch); };
  if (const auto found = place(fragment.epoch); found != slots_.end()) return &*found;
  auto free = place(0);
  if (free == slots_.end()) {
    const auto oldest = std::ranges::min_element(slots_, {}, &Slot::epoch);
    if (fragment.epoch < oldest->epoch) return nullptr;
    GiveOutThrough(oldest->epoch);
    free = place(0);
  }
  free->epoch = fragment.epoch;
  free->captured_unix_ns = fragment.captured_unix_ns;
  free->expected = fragment.subjects;
  free->complete = 0;
  free->used = 0;
  return &*free;
}

// Null if the slot has all its subjects already.
UdpAssembler::Subject* UdpAssembler::SubjectFor(Slot& slot, std::uint32_t number) {
  for (std::size_t i = 0; i < slot.used; ++i) {
    if (slot.subjects[i].number == number) return &slot.subjects[i];
  }
  if (slot.used == slot.expected) return nullptr;
  if (slot.used == slot.subjects.size()) slot.subjects.emplace_back();
  Subject& subject = slot.subjects[slot.used++];
  subject.number = number;
  subject.received = 0;
  subject.features.resize(options_.width);
  subject.present.assign(options_.width, 0);
  return &subject;
}

std::optional<UdpRefusal> UdpAssembler::Store(Slot& slot, Subject& subject, const UdpFragment& fragment) {
  const auto present = std::span(subject.present).subspan(fragment.first, fragment.count);
  if (std::ranges::any_of(present, [](char p) { return p != 0; })) {
    return UdpRefusal{UdpFault::kDuplicate, fmt::format("epoch {} subject {} from feature {}", fragment.epoch,
                                                        fragment.subject, fragment.first)};
  }
  if (!fragment.CopyFeatures(subject.features.data() + fragment.first)) {
    return UdpRefusal{UdpFault::kNotFinite,
                      fmt::format("epoch {} subject {}", fragment.epoch, fragment.subject)};
  }
  std::ranges::fill(present, 1);
  subject.received += fragment.count;
  if (subject.received == options_.width) ++slot.complete;
  return std::nullopt;
}

void UdpAssembler::GiveOutThrough(estimate::Epoch epoch) {
  for (;;) {
    Slot* oldest = nullptr;
    for (Slot& slot : slots_) {
      if (slot.epoch != 0 && slot.epoch <= epoch && (oldest == nullptr || slot.epoch < oldest->epoch))
        oldest = &slot;
    }
    if (oldest == nullptr) return;
    GiveOut(*oldest);
  }
}

void UdpAssembler::GiveOut(Slot& slot) {
  last_epoch_ = slot.epoch;
  losses_.lost_subjects += slot.expected - slot.complete;
  if (slot.complete == 0) {
    ++losses_.lost_slots;
  } else {
    SensorFrame frame{
        .epoch = slot.epoch, .captured_unix_ns = slot.captured_unix_ns, .subjects = {}, .features = {}};
    for (std::size_t i = 0; i < slot.used; ++i) {
      const Subject& subject = slot.subjects[i];
      if (subject.received != options_.width) continue;
      frame.subjects.push_back(subject.number);
      frame.features.insert(frame.features.end(), subject.features.begin(), subject.features.end());
    }
    ready_.push_back(std::move(frame));
  }
  slot.epoch = 0;
}

bool UdpAssembler::Take(SensorFrame& frame) {
  if (ready_.empty()) return false;
  std::swap(frame, ready_.front());
  ready_.erase(ready_.begin());
  return true;
}

}  // namespace tributary::source
