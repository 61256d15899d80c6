#include "aggregator/fusion/engine.h"

#include <utility>

#include "aggregator/fusion/collation.h"

namespace tributary::fusion {

absl::StatusOr<std::unique_ptr<FusionEngine>> FusionEngine::Create(SiteConfig config) {
  if (absl::Status status = Validate(config); !status.ok()) return status;
  return std::unique_ptr<FusionEngine>(new FusionEngine(std::move(config)));
}

FusionEngine::FusionEngine(SiteConfig config)
    : config_(std::move(config)), collation_(std::make_unique<Collation>(config_)) {}

FusionEngine::~FusionEngine() = default;

absl::StatusOr<SourceHandle> FusionEngine::Join(const SourceDeclaration& declaration) {
  runtime::MutexLock lock(mutex_);
  return collation_->Join(declaration);
}

OfferResult FusionEngine::Offer(SourceHandle source, const estimate::TupleFrame& frame, FusionTime now,
                                FusedSlots& out) {
  runtime::MutexLock lock(mutex_);
  return collation_->Offer(source, frame, now, out);
}

std::int64_t FusionEngine::Advance(FusionTime now, FusedSlots& out) {
  runtime::MutexLock lock(mutex_);
  return collation_->Advance(now, out);
}

std::int64_t FusionEngine::NextDeadline() const {
  runtime::MutexLock lock(mutex_);
  return collation_->NextDeadline();
}

void FusionEngine::Drain(FusionTime now, FusedSlots& out) {
  runtime::MutexLock lock(mutex_);
  collation_->Drain(now, out);
}

absl::Status FusionEngine::Reconfigure(const FusionTuning& tuning) {
  if (absl::Status status = Validate(tuning); !status.ok()) return status;
  runtime::MutexLock lock(mutex_);
  collation_->Reconfigure(tuning);
  return absl::OkStatus();
}

FusionTuning FusionEngine::tuning() const {
  runtime::MutexLock lock(mutex_);
  return collation_->tuning();
}

FusionCounters FusionEngine::counters() const {
  runtime::MutexLock lock(mutex_);
  return collation_->counters();
}

std::vector<SourceStatus> FusionEngine::sources() const {
  runtime::MutexLock lock(mutex_);
  return collation_->sources();
}

std::vector<LeafStatus> FusionEngine::leaves() const {
  runtime::MutexLock lock(mutex_);
  return collation_->leaves();
}

}  // namespace tributary::fusion
