#include "aggregator/fusion/subject_track.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "core/estimate/tuple_frame.h"

namespace tributary::fusion {
namespace {

constexpr std::int64_t kLongestGapNs = 1'000'000'000;
constexpr std::int64_t kLongestStepBackNs = 10'000'000'000;
constexpr estimate::Epoch kLeastGapSlots = 4;
constexpr estimate::Epoch kLeastStepBackSlots = 40;

}  // namespace

template <int D>
SubjectTrack<D>::SubjectTrack(estimate::SlotLength slot)
    : slot_s_(slot.seconds()),
      longest_gap_(std::max(slot.SlotsIn(kLongestGapNs), kLeastGapSlots)),
      longest_step_back_(std::max(slot.SlotsIn(kLongestStepBackNs), kLeastStepBackSlots)) {}

template <int D>
bool SubjectTrack<D>::Update(estimate::Epoch epoch, const estimate::Gaussian<D>& measured) {
  if (started_ && epoch <= epoch_ && epoch_ - epoch <= longest_step_back_) return false;
  if (!started_ || epoch < epoch_ || epoch - epoch_ > longest_gap_) {
    Start(epoch, measured);
    return true;
  }
  track_.Update(static_cast<double>(epoch - epoch_) * slot_s_, measured);
  epoch_ = epoch;
  const bool plausible = velocity().allFinite() && velocity().cwiseAbs().maxCoeff() < kFastest;
  if (!plausible) Start(epoch, measured);
  return true;
}

template <int D>
void SubjectTrack<D>::Start(estimate::Epoch epoch, const estimate::Gaussian<D>& measured) {
  started_ = true;
  epoch_ = epoch;
  track_.Start(measured);
}

namespace {

template <int D>
class SubjectTracksOf final : public SubjectTracks {
 public:
  explicit SubjectTracksOf(const SiteConfig& site)
      : slot_(site.slot), capacity_(std::size_t{4} * site.max_subjects) {}

  void Update(estimate::FusedSlot& slot) override {
    const std::size_t n = slot.subjects.size();
    slot.velocities.resize(n * D);
    for (std::size_t row = 0; row < n; ++row) {
      SubjectTrack<D>& track = Find(slot.subjects[row]);
      track.Update(slot.epoch, estimate::Gaussian<D>::FromTuple(
                                   &slot.means[row * D], &slot.cholesky[row * estimate::TriangleSize(D)]));
      for (int i = 0; i < D; ++i) {
        slot.velocities[row * D + static_cast<std::size_t>(i)] = static_cast<float>(track.velocity()[i]);
      }
    }
  }

 private:
  SubjectTrack<D>& Find(std::uint32_t subject) {
    const auto found = tracks_.find(subject);
    if (found != tracks_.end()) return found->second;
    if (tracks_.size() >= capacity_) {
      tracks_.erase(std::min_element(tracks_.begin(), tracks_.end(), [](const auto& a, const auto& b) {
        return a.second.epoch() < b.second.epoch();
      }));
    }
    return tracks_.try_emplace(subject, slot_).first->second;
  }

  const estimate::SlotLength slot_;
  const std::size_t capacity_;
  std::unordered_map<std::uint32_t, SubjectTrack<D>> tracks_;
};

}  // namespace

std::unique_ptr<SubjectTracks> SubjectTracks::Create(const SiteConfig& site) {
  switch (site.dimension) {
    case 1:
      return std::make_unique<SubjectTracksOf<1>>(site);
    case 2:
      return std::make_unique<SubjectTracksOf<2>>(site);
    default:
      return std::make_unique<SubjectTracksOf<3>>(site);
  }
}

template class SubjectTrack<1>;
template class SubjectTrack<2>;
template class SubjectTrack<3>;

}  // namespace tributary::fusion
