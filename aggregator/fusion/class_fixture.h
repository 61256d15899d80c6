// The language of the tests of categorical fusion: a site of receivers that tell modulations apart.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "aggregator/fusion/fusion_fixture.h"

namespace tributary::fusion {

class ClassFixture : public FusionFixture {
 protected:
  using Probabilities = std::vector<double>;

  ClassFixture() {
    site_.dimension = 0;
    site_.classes = {"BPSK", "QPSK", "GFSK"};
  }

  // One subject per row, numbered from 1.
  estimate::TupleFrame Classes(const std::vector<Probabilities>& rows, estimate::Epoch epoch = kEpoch) const {
    estimate::TupleFrame frame;
    frame.epoch = epoch;
    frame.sequence = 1;
    frame.captured_unix_ns = site_.slot.StartNs(epoch);
    frame.set_shape({.dimension = 0, .classes = static_cast<std::uint32_t>(site_.classes.size())});
    for (const Probabilities& row : rows) {
      frame.subjects.push_back(static_cast<std::uint32_t>(frame.subjects.size() + 1));
      for (const double each : row) frame.log_probabilities.push_back(static_cast<float>(std::log(each)));
    }
    return frame;
  }

  // The product of these, with the prior once, normalised.
  static Probabilities Product(const std::vector<Probabilities>& likelihoods, Probabilities prior) {
    double sum = 0;
    for (std::size_t c = 0; c < prior.size(); ++c) {
      for (const Probabilities& each : likelihoods) prior[c] *= each[c];
      sum += prior[c];
    }
    for (double& each : prior) each /= sum;
    return prior;
  }

  static void ExpectRow(const estimate::FusedSlot& slot, std::size_t row, const Probabilities& expected,
                        double tolerance = 1e-6) {
    ASSERT_EQ(slot.classes, expected.size());
    ASSERT_LT(row, slot.subjects.size());
    for (std::size_t c = 0; c < expected.size(); ++c) {
      EXPECT_NEAR(std::exp(slot.log_probabilities[row * expected.size() + c]), expected[c], tolerance)
          << "row " << row << ", class " << c;
    }
  }

  static estimate::TupleFrame AsFrame(const estimate::FusedSlot& slot) {
    estimate::TupleFrame frame;
    static_cast<estimate::SlotTuples&>(frame) = slot;
    return frame;
  }
};

}  // namespace tributary::fusion
