#include "aggregator/publish/slot_text.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "aggregator/fusion/engine.h"
#include "core/runtime/metrics.h"

namespace tributary::publish {
namespace {

class SlotTextTest : public ::testing::Test {
 protected:
  static std::unique_ptr<fusion::FusionEngine> Engine(const std::string& name) {
    fusion::SiteConfig config;
    config.name = name;
    config.leaves = {"south"};
    return fusion::FusionEngine::Create(config).value();
  }
  std::string Read(const Site& site, SlotText::Place place, bool truth = false) {
    return texts_.Get(site, truth, place, [this] { return "text " + std::to_string(++prints_); });
  }

  runtime::Metrics metrics_;
  Site hall_{Engine("hall"), "", metrics_};
  Site yard_{Engine("yard"), "", metrics_};
  SlotText texts_;
  int prints_ = 0;
};

TEST_F(SlotTextTest, TenReadersOfOneSlotShareItsText) {
  for (int reader = 0; reader < 10; ++reader) EXPECT_EQ(Read(hall_, {.number = 7, .skipped = 99}), "text 1");
  EXPECT_EQ(texts_.printed(), 1u);
}

TEST_F(SlotTextTest, AnotherSlotOrAnotherGapIsPrintedAgain) {
  EXPECT_EQ(Read(hall_, {.number = 7, .skipped = 99}), "text 1");
  EXPECT_EQ(Read(hall_, {.number = 8, .skipped = 99}), "text 2");
  EXPECT_EQ(Read(hall_, {.number = 8, .skipped = 0}), "text 3") << "this one came later, or missed less";
}

TEST_F(SlotTextTest, SitesAndTruthHaveTextsOfTheirOwn) {
  EXPECT_EQ(Read(hall_, {.number = 7}), "text 1");
  EXPECT_EQ(Read(yard_, {.number = 7}), "text 2");
  EXPECT_EQ(Read(hall_, {.number = 7}, true), "text 3");
  EXPECT_EQ(Read(hall_, {.number = 7}), "text 1") << "readers of other things do not drive it out";
}

}  // namespace
}  // namespace tributary::publish
