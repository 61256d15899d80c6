#include "node/source/burst_guard.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/radio/burst.h"
#include "core/runtime/log.h"
#include "core/status/macros.h"

namespace tributary::source {
namespace {

constexpr std::int64_t kLogIntervalNs = 10'000'000'000;

// Owned by one thread.
class BurstGuard final : public Source {
 public:
  BurstGuard(std::unique_ptr<Source> source, std::string panel, const runtime::Clock& clock)
      : source_(std::move(source)), panel_(std::move(panel)), clock_(clock) {}

  absl::Status Next(std::stop_token stop, SensorFrame& frame) override {
    RETURN_IF_ERROR(source_->Next(std::move(stop), frame));
    if (frame.features.size() != frame.subjects.size() * radio::kBurstFeatures) {
      return absl::InvalidArgumentError(absl::StrCat("the source gives ", frame.features.size(),
                                                     " features for ", frame.subjects.size(),
                                                     " subjects, a burst has ", radio::kBurstFeatures));
    }
    Check(frame);
    return absl::OkStatus();
  }

  std::uint64_t missed_frames() const override { return source_->missed_frames(); }
  std::shared_ptr<const UdpAccount> udp_account() const override { return source_->udp_account(); }
  std::optional<BurstCounts> unusable_bursts() const override { return unusable_; }

 private:
  void Check(SensorFrame& frame) {
    const std::span<float> features(frame.features);
    std::size_t kept = 0;
    for (std::size_t row = 0; row < frame.subjects.size(); ++row) {
      const auto burst = features.subspan(row * radio::kBurstFeatures).first<radio::kBurstFeatures>();
      if (const auto fault = radio::NormaliseBurst(burst)) {
        ++unusable_[static_cast<std::size_t>(*fault)];
        Say(*fault, frame.subjects[row]);
        continue;
      }
      if (kept != row) {
        std::ranges::copy(burst, features.subspan(kept * radio::kBurstFeatures).begin());
        frame.subjects[kept] = frame.subjects[row];
      }
      ++kept;
    }
    frame.subjects.resize(kept);
    frame.features.resize(kept * radio::kBurstFeatures);
  }

  void Say(radio::BurstFault fault, std::uint32_t subject) {
    const std::int64_t now_ns = clock_.SteadyNs();
    if (said_ns_ && now_ns - *said_ns_ < kLogIntervalNs) return;
    said_ns_ = now_ns;
    std::vector<std::string> counts;
    for (std::size_t i = 0; i < radio::kBurstFaults; ++i) {
      counts.push_back(absl::StrCat(unusable_[i], " ",
                                    std::string(radio::BurstFaultName(static_cast<radio::BurstFault>(i)))));
    }
    runtime::LogWarning("panel {}: a burst of subject {} is not used: {}; so far {}", panel_, subject,
                        radio::BurstFaultName(fault), absl::StrJoin(counts, ", "));
  }

  const std::unique_ptr<Source> source_;
  const std::string panel_;
  const runtime::Clock& clock_;
  BurstCounts unusable_{};
  std::optional<std::int64_t> said_ns_;
};

}  // namespace

std::unique_ptr<Source> GuardBursts(std::unique_ptr<Source> source, std::string panel,
                                    const runtime::Clock& clock) {
  return std::make_unique<BurstGuard>(std::move(source), std::move(panel), clock);
}

}  // namespace tributary::source
