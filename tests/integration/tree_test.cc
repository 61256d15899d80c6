// Two leaf aggregators and a root against one flat aggregator, on the same tuples.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "tests/support/fleet.h"
#include "tests/support/reporter.h"

namespace tributary::testing {
namespace {

constexpr int kSlots = 200;
constexpr int kStep = 20;
constexpr std::size_t kSubjects = 3;

std::string Parent(int port, const std::string& node) {
  return "[parent]\naggregator = \"127.0.0.1:" + std::to_string(port) + "\"\nnode = \"" + node + "\"\n";
}

// Moderately conditioned tuples around a common truth.
estimate::TupleFrame RandomFrame(std::mt19937& random, estimate::Epoch epoch) {
  std::normal_distribution<float> normal;
  estimate::TupleFrame frame;
  frame.epoch = epoch;
  frame.captured_unix_ns = estimate::SlotLength().StartNs(epoch);
  for (std::uint32_t subject = 1; subject <= kSubjects; ++subject) {
    frame.subjects.push_back(subject);
    frame.means.push_back(static_cast<float>(subject) + 0.05f * normal(random));
    frame.means.push_back(2.0f + 0.05f * normal(random));
    frame.cholesky.push_back(0.05f * std::exp(0.3f * normal(random)));
    frame.cholesky.push_back(0.02f * normal(random));
    frame.cholesky.push_back(0.05f * std::exp(0.3f * normal(random)));
  }
  return frame;
}

// Whether all elements agree to `relative` of the largest one.
void ExpectClose(const std::vector<float>& tree, const std::vector<float>& flat, float relative) {
  ASSERT_EQ(tree.size(), flat.size());
  float largest = 0;
  for (const float value : flat) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < flat.size(); ++i) EXPECT_NEAR(tree[i], flat[i], relative * largest) << i;
}

class TreeTest : public ::testing::Test {
 protected:
  ScratchFolder folder_;
  std::mt19937 random_{1};
};

TEST_F(TreeTest, FusesToTheSameAsOneFlatAggregator) {
  AggregatorProcess flat(folder_, "flat", kWalls);
  AggregatorProcess root(folder_, "root", kWalls);
  AggregatorProcess left(folder_, "left", {"south", "east"}, Parent(root.ingest_port(), "left"));
  AggregatorProcess right(folder_, "right", {"north", "west"}, Parent(root.ingest_port(), "right"));
  for (AggregatorProcess* one : {&flat, &root, &left, &right}) {
    one->Start();
    ASSERT_TRUE(one->Ready()) << one->process().Log();
  }
  const Collector from_flat(flat.ingest_port());
  const Collector from_root(root.ingest_port());

  std::map<std::string, std::vector<std::unique_ptr<Reporter>>> reporters;
  for (const std::string& wall : kWalls) {
    const int leaf_port = (wall == "south" || wall == "east" ? left : right).ingest_port();
    reporters[wall].push_back(std::make_unique<Reporter>(wall, flat.ingest_port()));
    reporters[wall].push_back(std::make_unique<Reporter>(wall, leaf_port));
  }
  for (const auto& [wall, pair] : reporters) {
    for (const auto& reporter : pair) ASSERT_TRUE(WaitFor([&] { return reporter->Reporting(); }));
  }

  // In batches that fit the aggregators' queue for a reader, so that no slot is skipped.
  const runtime::SystemClock clock;
  const estimate::Epoch first = estimate::SlotLength().EpochAt(clock.UnixNs());
  for (estimate::Epoch epoch = first; epoch < first + kSlots; ++epoch) {
    for (const auto& [wall, pair] : reporters) {
      const estimate::TupleFrame frame = RandomFrame(random_, epoch);
      for (const auto& reporter : pair) reporter->Offer(frame);
    }
    if ((epoch - first) % kStep != kStep - 1) continue;
    ASSERT_TRUE(WaitFor([&] { return from_flat.Has(epoch, 0b1111) && from_root.Has(epoch, 0b1111); }));
  }

  int compared = 0;
  const std::map<estimate::Epoch, wire::WatchedSlot> flat_slots = from_flat.slots();
  for (const auto& [epoch, slot] : from_root.slots()) {
    const auto found = flat_slots.find(epoch);
    if (found == flat_slots.end() || slot.contributors != found->second.contributors) continue;
    ASSERT_EQ(slot.subjects, found->second.subjects);
    ExpectClose(slot.means, found->second.means, 1e-5f);
    ExpectClose(slot.cholesky, found->second.cholesky, 1e-5f);
    ++compared;
  }
  EXPECT_EQ(compared, kSlots);
}

// The panel "east" reports through both leaf aggregators.
TEST_F(TreeTest, CountsAPanelThatComesByTwoPathsOnce) {
  AggregatorProcess root(folder_, "root", {"south", "east"});
  AggregatorProcess left(folder_, "left", {"south", "east"}, Parent(root.ingest_port(), "left"));
  AggregatorProcess right(folder_, "right", {"east"}, Parent(root.ingest_port(), "right"));
  for (AggregatorProcess* one : {&root, &left, &right}) {
    one->Start();
    ASSERT_TRUE(one->Ready()) << one->process().Log();
  }
  const Collector from_root(root.ingest_port());
  Reporter south(kWalls[0], left.ingest_port());
  Reporter east_left("east", left.ingest_port());
  Reporter east_right("east", right.ingest_port());
  for (const Reporter* one : {&south, &east_left, &east_right}) {
    ASSERT_TRUE(WaitFor([&] { return one->Reporting(); }));
  }

  // Equal unit tuples: two leaves halve the variance; a leaf counted twice would make it a third.
  const estimate::Epoch epoch = estimate::SlotLength().EpochAt(runtime::SystemClock().UnixNs());
  for (Reporter* one : {&south, &east_left, &east_right}) one->Offer(UnitFrame(epoch));

  ASSERT_TRUE(WaitFor([&] { return from_root.Has(epoch, 0b11); }));
  const wire::WatchedSlot slot = from_root.slots().at(epoch);
  EXPECT_NEAR(slot.cholesky[0], std::sqrt(0.5f), 1e-5f);
  EXPECT_NEAR(slot.cholesky[2], std::sqrt(0.5f), 1e-5f);
}

// A leaf aggregator that fused without "east" sends a revision upward after that panel reports.
TEST_F(TreeTest, SendsARevisionUpward) {
  AggregatorProcess root(folder_, "root", {"south", "east"}, "", "late = \"revise\"");
  AggregatorProcess leaf(folder_, "leaf", {"south", "east"}, Parent(root.ingest_port(), "leaf"),
                         "late = \"revise\"");
  for (AggregatorProcess* one : {&root, &leaf}) {
    one->Start();
    ASSERT_TRUE(one->Ready()) << one->process().Log();
  }
  const Collector from_root(root.ingest_port());
  Reporter south("south", leaf.ingest_port());
  Reporter east("east", leaf.ingest_port());
  for (const Reporter* one : {&south, &east}) ASSERT_TRUE(WaitFor([&] { return one->Reporting(); }));

  const estimate::Epoch epoch = estimate::SlotLength().EpochAt(runtime::SystemClock().UnixNs());
  south.Offer(UnitFrame(epoch, 0));
  ASSERT_TRUE(WaitFor([&] { return from_root.Has(epoch, 0b01); }));
  east.Offer(UnitFrame(epoch, 2));
  ASSERT_TRUE(WaitFor([&] { return from_root.Has(epoch, 0b11); }));
  const wire::WatchedSlot slot = from_root.slots().at(epoch);
  EXPECT_NEAR(slot.means[0], 1.0f, 1e-5f);
  EXPECT_NEAR(slot.cholesky[0], std::sqrt(0.5f), 1e-5f);
}

}  // namespace
}  // namespace tributary::testing
