#include "node/panel/board_fusion.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <span>
#include <utility>

#include "core/estimate/tuple_planes.h"
#include "core/runtime/log.h"
#include "node/accelerator/fusion_accelerator.h"
#include "node/panel/panel.h"

namespace tributary::panel {
namespace {

constexpr std::size_t kValues = accelerator::FusionAccelerator::kValues;
constexpr std::int64_t kLongestWaitNs = 100'000'000;

}  // namespace

BoardFusion::BoardFusion(Options options, std::unique_ptr<accelerator::Accelerator> accelerator,
                         const runtime::Clock& clock, link::TupleSink& sink, runtime::Metrics& metrics)
    : options_(std::move(options)),
      accelerator_(std::move(accelerator)),
      clock_(clock),
      sink_(sink),
      collation_(options_.panels, options_.deadline_ns) {
  const runtime::MetricLabels labels = {{"panel", options_.name}};
  metrics.AddCounts<BoardFusionCounters>(
      labels, [this] { return counters(); }, kBoardFusionMetrics);
  metrics.AddCounts<DeviceCounters>(
      labels, [this] { return accelerator_->counters(); }, kDeviceMetrics);
}

void BoardFusion::Start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

void BoardFusion::Stop() { thread_ = {}; }

void BoardFusion::Offer(estimate::TupleFrame& frame) {
  {
    const runtime::MutexLock lock(mutex_);
    collation_.Add(frame.source, frame, clock_.SteadyNs());
  }
  arrived_.notify_one();
}

BoardFusionCounters BoardFusion::counters() const {
  const runtime::MutexLock lock(mutex_);
  BoardFusionCounters counters = published_;
  counters.dropped_slots = collation_.counters().dropped_slots;
  counters.late_frames = collation_.counters().late_frames;
  return counters;
}

void BoardFusion::Run(const std::stop_token& stop) {
  runtime::MutexLock lock(mutex_);
  for (;;) {
    // Read once per turn: nobody offers after the stop, so the frames that wait now are the last.
    const bool stopping = stop.stop_requested();
    const std::int64_t now_ns = stopping ? PanelCollation::kNever : clock_.SteadyNs();
    if (collation_.Take(now_ns, slot_)) {
      lock.unlock();
      FuseSlot();
      lock.lock();
      published_ = counted_;
      continue;
    }
    if (stopping) return;
    const std::int64_t due_ns = collation_.next_due_ns();
    const std::int64_t wait_ns = std::min(due_ns - now_ns, kLongestWaitNs);
    arrived_.wait_for(lock, stop, std::chrono::nanoseconds(wait_ns), [&]() REQUIRES(mutex_) {
      return collation_.next_due_ns() < due_ns || due_ns <= clock_.SteadyNs();
    });
  }
}

void BoardFusion::Gather() {
  subjects_.clear();
  for (const estimate::TupleFrame& frame : slot_.frames) {
    subjects_.insert(subjects_.end(), frame.subjects.begin(), frame.subjects.end());
  }
  std::ranges::sort(subjects_);
  subjects_.erase(std::unique(subjects_.begin(), subjects_.end()), subjects_.end());

  const std::size_t width = options_.panels * kValues;
  contributors_.assign(subjects_.size(), 0);
  inputs_.assign(subjects_.size() * width, std::numeric_limits<float>::quiet_NaN());
  for (std::size_t panel = 0; panel < options_.panels; ++panel) {
    const estimate::TupleFrame& frame = slot_.frames[panel];
    for (std::size_t i = 0; i < frame.subjects.size(); ++i) {
      const auto place = std::ranges::lower_bound(subjects_, frame.subjects[i]) - subjects_.begin();
      const auto row = static_cast<std::size_t>(place);
      contributors_[row] |= std::uint64_t{1} << panel;
      float* values = &inputs_[row * width + panel * kValues];
      std::copy_n(&frame.means[2 * i], 2, values);
      std::copy_n(&frame.cholesky[3 * i], 3, values + 2);
    }
  }
}

void BoardFusion::Store(std::size_t row) {
  const auto tuple = std::span(outputs_).subspan(row * kValues, kValues);
  const auto mean = tuple.first(2);
  const auto cholesky = tuple.subspan(2);
  if (!estimate::ValidTuples(2, mean, cholesky)) {
    ++counted_.unusable_tuples;
    return;
  }
  fused_.subjects.push_back(subjects_[row]);
  fused_.means.insert(fused_.means.end(), mean.begin(), mean.end());
  fused_.cholesky.insert(fused_.cholesky.end(), cholesky.begin(), cholesky.end());
  fused_.contributors.push_back(contributors_[row]);
}

void BoardFusion::FuseSlot() {
  Gather();
  const accelerator::Accelerator::Shape shape = accelerator_->shape();
  outputs_.resize(subjects_.size() * kValues);
  for (std::size_t first = 0; first < subjects_.size(); first += shape.max_batch) {
    const std::size_t batch = std::min(shape.max_batch, subjects_.size() - first);
    const absl::Status status =
        accelerator_->Infer(std::span(inputs_).subspan(first * shape.inputs, batch * shape.inputs), batch,
                            std::span(outputs_).subspan(first * kValues, batch * kValues));
    if (!status.ok()) {
      ++counted_.failed_slots;
      if (!std::exchange(failing_, true)) {
        runtime::LogError("fusion: {}; slots are lost until it works again", std::string(status.message()));
      }
      return;
    }
  }
  if (std::exchange(failing_, false))
    runtime::LogWarning("fusion: {} fuses again", accelerator_->description());

  fused_.Begin(slot_.epoch, std::numeric_limits<std::int64_t>::max(), {.dimension = 2, .classes = 0});
  for (std::size_t panel = 0; panel < options_.panels; ++panel) {
    if (slot_.present[panel])
      fused_.captured_unix_ns = std::min(fused_.captured_unix_ns, slot_.frames[panel].captured_unix_ns);
  }
  for (std::size_t row = 0; row < subjects_.size(); ++row) Store(row);
  if (fused_.subjects.empty()) return;
  ++counted_.slots;
  if (slot_.arrived < options_.panels) ++counted_.incomplete_slots;
  counted_.tuples += fused_.subjects.size();
  sink_.Offer(fused_);
}

}  // namespace tributary::panel
