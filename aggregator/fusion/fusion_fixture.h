// The language of the fusion tests: a site, reporting panels, and the output.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "aggregator/fusion/engine.h"
#include "core/estimate/gaussian.h"

namespace tributary::fusion {

class FusionFixture : public ::testing::Test {
 protected:
  static constexpr estimate::Epoch kEpoch = 3'400'000'000'000;       // in 2023
  static constexpr estimate::Epoch kEpochOfSeconds = 1'700'000'000;  // where slots are that long
  static constexpr std::int64_t kMs = 1'000'000;

  FusionFixture() {
    site_.name = "hall";
    site_.leaves = {"north", "east", "south", "west"};
    site_.window_slots = 64;
    site_.max_age_ns = 20 * site_.slot.ns();
    site_.max_lead_ns = 10 * site_.slot.ns();
    site_.tuning.deadline_ns = 5 * kMs;
    SetTime(kEpoch, 0);
  }

  // Creates the engine and lets every leaf join as a source.
  void Start() {
    StartEmpty();
    for (const std::string& leaf : site_.leaves) Join(leaf, {leaf});
  }
  void StartEmpty() {
    auto engine = FusionEngine::Create(site_);
    ASSERT_TRUE(engine.ok()) << engine.status();
    owned_ = *std::move(engine);
    engine_ = owned_.get();
  }
  void Join(const std::string& name, const std::vector<std::string>& leaves) {
    const auto handle = engine_->Join({name, site_.dimension, leaves, site_.classes});
    ASSERT_TRUE(handle.ok()) << handle.status();
    handles_[name] = *handle;
  }

  void SetTime(estimate::Epoch epoch, std::int64_t steady_ns) {
    now_ = {steady_ns, site_.slot.StartNs(epoch)};
  }

  // One subject per mean, numbered from 1, with covariance deviation²·I.
  estimate::TupleFrame Frame(estimate::Epoch epoch, const std::vector<float>& means_x,
                             float deviation = 0.1f) const {
    estimate::TupleFrame frame;
    frame.epoch = epoch;
    frame.sequence = 1;
    frame.captured_unix_ns = site_.slot.StartNs(epoch);
    frame.dimension = site_.dimension;
    for (std::size_t i = 0; i < means_x.size(); ++i) {
      frame.subjects.push_back(static_cast<std::uint32_t>(i + 1));
      for (std::uint32_t row = 0; row < site_.dimension; ++row) {
        frame.means.push_back(row == 0 ? means_x[i] : 0.0f);
        for (std::uint32_t column = 0; column <= row; ++column) {
          frame.cholesky.push_back(row == column ? deviation : 0.0f);
        }
      }
    }
    return frame;
  }

  OfferResult Offer(const std::string& source, const estimate::TupleFrame& frame) {
    return engine_->Offer(handles_.at(source), frame, now_, out_);
  }
  void OfferAll(const estimate::TupleFrame& frame) {
    for (const auto& [name, handle] : handles_)
      ASSERT_TRUE(engine_->Offer(handle, frame, now_, out_).accepted) << name;
  }

  // The reason of the only refusal.
  RefusalReason ReasonOf(const OfferResult& result) const {
    EXPECT_EQ(result.refusals.size(), 1u);
    return result.refusals.empty() ? RefusalReason::kUnspecified : result.refusals[0].reason;
  }
  std::uint64_t Refused(RefusalReason reason) const {
    return engine_->counters().frames_refused[static_cast<std::size_t>(reason)];
  }

  SiteConfig site_;
  FusionTime now_;
  std::unique_ptr<FusionEngine> owned_;
  FusionEngine* engine_ = nullptr;
  std::map<std::string, SourceHandle> handles_;
  FusedSlots out_;
};

}  // namespace tributary::fusion
