// The settings of one site, and sets of its leaves.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "core/estimate/slot_length.h"
#include "core/estimate/tuple_frame.h"
#include "core/status/faults.h"

namespace tributary::fusion {

inline constexpr std::size_t kMaxLeaves = 256;

// Leaves of one site, by their index in SiteConfig::leaves.
using LeafSet = std::bitset<kMaxLeaves>;

inline bool Intersect(const LeafSet& a, const LeafSet& b) { return (a & b).any(); }
inline bool IsSubset(const LeafSet& part, const LeafSet& whole) { return (part & ~whole).none(); }

// On the wire: bits of leaves 0…63, 64…127 and so on, least significant first.
constexpr std::size_t LeafWords(std::size_t leaves) { return (leaves + 63) / 64; }
inline std::uint64_t LeafWord(const LeafSet& leaves, std::size_t word) {
  return (leaves >> (64 * word) & LeafSet(UINT64_MAX)).to_ullong();
}

// What happens to a frame whose slot was fused without it.
enum class LatePolicy {
  kCount,   // refused and counted
  kRevise,  // fused; the slot is published again with the next revision
};

enum class FusionMethod {
  kProduct,       // conflation: the inputs are independent
  kIntersection,  // covariance intersection or log-linear pool: their correlation is unknown
};

enum class CalibrationMode {
  kOff,
  kObserve,  // says how far the sources are off, and corrects nothing
  kCorrect,
};

// How the sources' uncertainties and mountings are judged by each other (core/estimate/source_calibration.h).
struct CalibrationTuning {
  CalibrationMode mode = CalibrationMode::kOff;
  double window_s = 30;   // an observation counts e times less after so long
  double shift_m = 0.02;  // how sure the plan is of the sources' places and directions: standard deviations
  double turn_deg = 2;
  std::vector<std::array<double, 2>> places = {};  // [leaves] x, y of each source, m; empty: not known
};

// Settings that may change while the engine runs.
struct FusionTuning {
  // A slot is fused at the latest this long after its first frame, or after it began if that is later.
  std::int64_t deadline_ns = estimate::DefaultDeadlineNs(estimate::SlotLength());
  // Slots stop waiting for a leaf that missed this many in a row, until it reports or joins again. 0: they
  // always wait.
  std::uint32_t absent_after_slots = 0;
  LatePolicy late = LatePolicy::kCount;
  FusionMethod method = FusionMethod::kProduct;
  // A tuple is left out if it lies so far from the fusion of the others as a consistent source's does with a
  // probability of at most 1 minus this, e.g. 0.999: a chi-square test of the innovation, or with classes
  // Markov's bound of the surprise. Needs at least three contributions: with two nobody can tell which is
  // wrong.
  std::optional<double> gate_probability;
  bool track = false;  // a track of each subject, straight or manoeuvring
  CalibrationTuning calibration;
};

struct SiteConfig {
  std::string name;
  // Every tuple has 1, 2 or 3 dimensions, or none and the probabilities of these classes, in their order.
  std::uint32_t dimension = 2;
  std::vector<std::string> classes = {};
  std::vector<double> prior = {};   // probabilities of the classes before any tuple; empty: uniform
  std::vector<std::string> leaves;  // the leaf sources (panels) of a complete slot, at most kMaxLeaves
  std::uint32_t max_subjects = 64;  // of a frame
  estimate::SlotLength slot;        // what epochs count

  // Number of remembered slots, fused or not, rounded up to a power of two. A newer slot removes the oldest
  // one, which is fused early if it still waits.
  std::uint32_t window_slots = 8192;
  // Accepts slots that overlap the time from now - max_age to now + max_lead. Unset: unlimited (replay of
  // recordings). If both are set, their span must fit in the window: then a sender with a wrong clock cannot
  // push out another's slots.
  std::optional<std::int64_t> max_age_ns = 2'000'000'000;
  std::optional<std::int64_t> max_lead_ns = 250'000'000;

  FusionTuning tuning;

  estimate::TupleShape shape() const { return {dimension, static_cast<std::uint32_t>(classes.size())}; }
};

// Numbers in one fused slot of categorical tuples, whose sources may all name other subjects: half of what a
// message may have by default.
inline constexpr std::uint64_t kMostClassNumbers = std::uint64_t{128} << 10;

// The largest number of accepted slots; nullopt if one of the two limits is unset.
std::optional<std::int64_t> AdmittedSlots(const SiteConfig& config);
// The smallest sufficient power of two; 8192 for an unlimited span, 16 to 2^20.
std::uint32_t DefaultWindowSlots(const SiteConfig& config);

// Everything that is wrong, by the keys of [[site]]; the reader of the configuration checks the names.
Faults FaultsOf(const SiteConfig& config);
// InvalidArgument, naming every fault.
absl::Status Validate(const SiteConfig& config);

}  // namespace tributary::fusion
