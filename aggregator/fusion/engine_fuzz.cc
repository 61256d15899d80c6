// Random frames, joins and times: every output is valid and everything is counted.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "aggregator/fusion/engine.h"

namespace tributary::fusion {
namespace {

// Reads values from the input until it ends, then zeros.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

  template <typename T>
  T Take() {
    T value = {};
    const std::size_t n = std::min(sizeof(T), size_);
    std::memcpy(&value, data_, n);
    data_ += n;
    size_ -= n;
    return value;
  }
  bool empty() const { return size_ == 0; }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

void Check(bool holds) {
  if (!holds) std::abort();
}

// Mostly probabilities, also zero ones; else any numbers.
void TakeClasses(Bytes& bytes, estimate::TupleFrame& frame) {
  if (bytes.Take<std::uint8_t>() >= 0xf0) {
    for (std::uint32_t c = 0; c < frame.classes; ++c) frame.log_probabilities.push_back(bytes.Take<float>());
    return;
  }
  std::array<float, 4> weights = {};
  float sum = 0;
  for (std::uint32_t c = 0; c < frame.classes; ++c) sum += weights[c] = bytes.Take<std::uint8_t>();
  for (std::uint32_t c = 0; c < frame.classes; ++c) {
    frame.log_probabilities.push_back(std::log(weights[c] / sum));
  }
}

estimate::TupleFrame TakeFrame(Bytes& bytes, estimate::TupleShape of_site) {
  estimate::TupleFrame frame;
  frame.epoch = 1'000'000 + bytes.Take<std::int8_t>();
  frame.revision = bytes.Take<std::uint8_t>() % 3;
  frame.set_shape(of_site);
  const std::size_t n = bytes.Take<std::uint8_t>() % 6;
  const std::uint8_t shape = bytes.Take<std::uint8_t>();
  for (std::size_t i = 0; i < n; ++i) frame.subjects.push_back(bytes.Take<std::uint8_t>() % 8);
  for (std::size_t i = 0; i < n * of_site.means() + (shape == 1); ++i)
    frame.means.push_back(bytes.Take<float>());
  for (std::size_t i = 0; i < n * of_site.cholesky() + (shape == 2); ++i) {
    frame.cholesky.push_back(bytes.Take<float>());
  }
  for (std::size_t i = 0; i < n && of_site.classes > 0; ++i) TakeClasses(bytes, frame);
  if (shape == 3) frame.log_probabilities.push_back(0);
  if (shape & 0x80) {
    for (std::size_t i = 0; i < n; ++i) frame.contributors.push_back(bytes.Take<std::uint8_t>() % 4);
  }
  return frame;
}

void CheckSlot(const estimate::FusedSlot& slot) {
  const std::size_t n = slot.subjects.size();
  const std::size_t d = slot.dimension;
  Check(slot.means.size() == n * d && slot.cholesky.size() == n * estimate::TriangleSize(d));
  Check(slot.contributors.size() == n && slot.consistency.size() == n);
  for (const float value : slot.means) Check(std::isfinite(value));
  for (const float value : slot.cholesky) Check(std::isfinite(value));
  Check(slot.log_probabilities.size() == n * slot.classes);
  for (std::size_t i = 0; i < n && slot.classes > 0; ++i) {
    double sum = 0;
    for (std::uint32_t c = 0; c < slot.classes; ++c)
      sum += std::exp(slot.log_probabilities[i * slot.classes + c]);
    Check(std::abs(sum - 1) < 1e-4);
  }
  for (const float value : slot.velocities) Check(std::isfinite(value));
  for (const float value : slot.consistency) Check(!std::isnan(value));
  for (const std::uint64_t leaves : slot.contributors) Check(leaves != 0 && leaves < 8);
}

}  // namespace
}  // namespace tributary::fusion

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tributary;
  using namespace tributary::fusion;
  Bytes bytes(data, size);
  SiteConfig site;
  site.name = "fuzz";
  const auto options = bytes.Take<std::uint8_t>();
  site.dimension = 1 + options % 3;
  site.leaves = {"a", "b", "c"};
  site.max_subjects = 5;
  site.window_slots = 16;
  if (options & 4) site.max_lead_ns.reset();
  const auto slot_choice = bytes.Take<std::uint8_t>();
  site.slot = *estimate::SlotLength::FromNs(std::array<std::uint64_t, 4>{
      500'000, 10'000'000, estimate::SlotLength::kShortestNs, 1'000'000'000}[slot_choice % 4]);
  site.max_age_ns = 8 * site.slot.ns();
  if (site.max_lead_ns) site.max_lead_ns = 4 * site.slot.ns();
  if (options & 8) site.tuning.late = LatePolicy::kRevise;
  if (options & 16) site.tuning.method = FusionMethod::kIntersection;
  if (options & 32) site.tuning.gate_probability = 0.9;
  site.tuning.track = (options & 64) != 0;
  if (slot_choice & 0x80) {
    site.dimension = 0;
    site.classes = {"A", "B", "C", "D"};
    if (slot_choice & 0x40) site.prior = {0.7, 0.1, 0.1, 0.1};
    site.tuning.track = false;
  }
  const auto engine = *FusionEngine::Create(site);
  for (const auto& leaves :
       std::vector<std::vector<std::string>>{{"a"}, {"b"}, {"a", "b"}, {"b", "c"}, {"c"}}) {
    Check(
        engine->Join({"s" + std::to_string(leaves.size()) + leaves[0], site.dimension, leaves, site.classes})
            .ok());
  }

  FusedSlots out;
  std::uint64_t offered = 0;
  FusionTime now = {0, site.slot.StartNs(1'000'000)};
  while (!bytes.empty()) {
    out.Clear();
    const auto action = bytes.Take<std::uint8_t>();
    if (action < 16) {
      now.steady_ns += action * 1'000'000;
      now.unix_ns += bytes.Take<std::int16_t>() * (site.slot.ns() / 5);
      engine->Advance(now, out);
    } else {
      const estimate::TupleFrame frame =
          TakeFrame(bytes, action == 255 ? estimate::TupleShape() : site.shape());
      const OfferResult result = engine->Offer(action % 6, frame, now, out);
      Check(result.accepted || result.refusals.size() >= 1);
      ++offered;
    }
    for (const estimate::FusedSlot& slot : out.slots()) CheckSlot(slot);
  }
  out.Clear();
  engine->Drain(now, out);
  for (const estimate::FusedSlot& slot : out.slots()) CheckSlot(slot);

  const FusionCounters counters = engine->counters();
  std::uint64_t ends = counters.frames_accepted;
  for (const std::uint64_t refused : counters.frames_refused) ends += refused;
  Check(ends == offered);
  Check(counters.open_slots == 0);
  return 0;
}
