// What a parent is told of this aggregator's nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

namespace tributary::learning {

// The nodes that could do a parent's training: those that wait for a run and those in the relayed one.
struct RosterSize {
  std::size_t nodes = 0;  // that have said how many samples they have
  std::uint64_t sample_count = 0;

  friend bool operator==(const RosterSize&, const RosterSize&) = default;
};

// Tells a roster as it is, and when it has changed: what changes within kRestNs at once, for nodes come and
// go in crowds. One thread at a time.
class ParentRoster {
 public:
  static constexpr std::int64_t kRestNs = 250'000'000;
  using Watch = std::function<void(const RosterSize&)>;

  void Start(Watch watch) {
    watch_ = std::move(watch);
    changed_ = true;
    due_ns_ = 0;
  }
  bool started() const { return watch_ != nullptr; }

  // The roster may be another one. It is told `rest` later than now.
  void Touch(std::int64_t now_ns) {
    if (!started() || changed_) return;
    changed_ = true;
    due_ns_ = now_ns + kRestNs;
  }
  // Counts and tells if it is time; the steady time at which to call again, or nothing.
  std::optional<std::int64_t> Tell(std::int64_t now_ns, const std::function<RosterSize()>& count) {
    if (!started() || !changed_) return std::nullopt;
    if (now_ns < due_ns_) return due_ns_;
    changed_ = false;
    const RosterSize roster = count();
    if (told_ != roster) watch_(roster);
    told_ = roster;
    return std::nullopt;
  }

 private:
  Watch watch_;
  bool changed_ = false;
  std::int64_t due_ns_ = 0;
  std::optional<RosterSize> told_;
};

}  // namespace tributary::learning
