#include "core/wire/hello.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

namespace tributary::wire {
namespace {

using ::testing::HasSubstr;

class HelloTest : public ::testing::Test {
 protected:
  HelloTest() {
    hello_.set_site("lab");
    hello_.set_node("north");
    hello_.set_boot_id(NewBootId());
    AddSource(hello_, "a", 2, {"a"});
    AddSource(hello_, "b", 3, {"b1", "b2"});
    hello_.mutable_model()->set_sha256(std::string(32, 'x'));
    hello_.set_slot_ns(16'666'667);
  }
  // The message for a hello after `change`.
  std::string FaultOf(const std::function<void(v1::Hello&)>& change) {
    v1::Hello hello = hello_;
    change(hello);
    const auto checked = CheckHello(hello);
    EXPECT_EQ(checked.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(checked.status().message());
  }
  v1::Hello hello_;
};

TEST(SlotOfAnswerTest, MustBeTheNodes) {
  const estimate::SlotLength own = *estimate::SlotLength::FromNs(16'666'667);
  v1::ReportResponse answer;
  answer.set_slot_ns(16'666'667);
  EXPECT_TRUE(CheckSlotOfAnswer(answer, own).ok());
  answer.set_slot_ns(20'000'000);
  EXPECT_THAT(CheckSlotOfAnswer(answer, own).message(), HasSubstr("the aggregator of 20 ms"));
  answer.clear_slot_ns();  // an older one
  EXPECT_TRUE(CheckSlotOfAnswer(answer, estimate::SlotLength()).ok());
  EXPECT_THAT(CheckSlotOfAnswer(answer, own).message(), HasSubstr("the only length that it knows"));
  answer.set_slot_ns(1);
  EXPECT_EQ(CheckSlotOfAnswer(answer, own).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(HelloTest, SaysWhatTheEpochsCount) {
  const auto slot = CheckHello(hello_);
  ASSERT_TRUE(slot.ok()) << slot.status();
  EXPECT_EQ(slot->ns(), 16'666'667);
}

TEST_F(HelloTest, ANodeThatSaysNoSlotCountsThePilotSlots) {
  hello_.clear_slot_ns();
  const auto slot = CheckHello(hello_);
  ASSERT_TRUE(slot.ok()) << slot.status();
  EXPECT_EQ(*slot, estimate::SlotLength());
}

TEST_F(HelloTest, EachProcessHasItsOwnBootId) { EXPECT_NE(NewBootId(), NewBootId()); }

TEST_F(HelloTest, NamesTheFieldAtFault) {
  EXPECT_THAT(FaultOf([](v1::Hello& h) { h.clear_site(); }), HasSubstr("hello.site: 0 bytes"));
  EXPECT_THAT(FaultOf([](v1::Hello& h) { h.set_node("a\nb"); }), HasSubstr("hello.node: control"));
  EXPECT_THAT(FaultOf([](v1::Hello& h) { h.set_node(std::string(129, 'a')); }), HasSubstr("129 bytes"));
  EXPECT_THAT(FaultOf([](v1::Hello& h) { h.set_boot_id("short"); }), HasSubstr("hello.boot_id: 5 bytes"));
  EXPECT_THAT(FaultOf([](v1::Hello& h) { h.clear_sources(); }), HasSubstr("hello.sources: 0 given"));
  EXPECT_THAT(FaultOf([](v1::Hello& h) { h.mutable_sources(1)->set_name("a"); }),
              HasSubstr("hello.sources[1].name: \"a\" is given twice"));
  EXPECT_THAT(FaultOf([](v1::Hello& h) { h.mutable_sources(0)->set_dimension(4); }),
              HasSubstr("hello.sources[0].dimension: 4"));
  EXPECT_THAT(FaultOf([](v1::Hello& h) { h.mutable_sources(0)->clear_leaves(); }),
              HasSubstr("hello.sources[0].leaves: 0 given"));
  EXPECT_THAT(FaultOf([](v1::Hello& h) { h.mutable_sources(1)->set_leaves(1, "b1"); }),
              HasSubstr("listed twice"));
  EXPECT_THAT(FaultOf([](v1::Hello& h) { h.mutable_sources(0)->set_dimension(0); }),
              HasSubstr("hello.sources[0].dimension: 0, expected 1, 2 or 3"));
  EXPECT_THAT(FaultOf([](v1::Hello& h) { h.mutable_model()->set_sha256("x"); }),
              HasSubstr("hello.model.sha256"));
  for (const std::uint64_t absurd : {std::uint64_t{1}, std::uint64_t{9'999}, std::uint64_t{3'600'000'000'001},
                                     std::numeric_limits<std::uint64_t>::max()}) {
    EXPECT_THAT(FaultOf([absurd](v1::Hello& h) { h.set_slot_ns(absurd); }), HasSubstr("hello.slot_ns: "));
  }
}

TEST_F(HelloTest, NamesTheClassesAtFault) {
  AddClassifier(hello_, "c", {"c"}, {"BPSK", "QPSK"}, {0.5, 0.5});
  ASSERT_TRUE(CheckHello(hello_).ok());
  EXPECT_THAT(FaultOf([](v1::Hello& h) { h.mutable_sources(2)->set_dimension(2); }),
              HasSubstr("hello.sources[2].dimension: 2, expected 0 with classes"));
  EXPECT_THAT(FaultOf([](v1::Hello& h) { h.mutable_sources(2)->mutable_classes()->RemoveLast(); }),
              HasSubstr("hello.sources[2].classes: 1 given, expected 2 to 256"));
  EXPECT_THAT(FaultOf([](v1::Hello& h) {
                for (int i = 0; i < 998; ++i) h.mutable_sources(2)->add_classes(std::to_string(i));
              }),
              HasSubstr("hello.sources[2].classes: 1000 given"));
  EXPECT_THAT(FaultOf([](v1::Hello& h) { h.mutable_sources(2)->add_classes("BPSK"); }),
              HasSubstr("\"BPSK\" is listed twice"));
  for (const std::string& name : {std::string(), std::string(129, 'a'), std::string("a\x1b[31m")}) {
    EXPECT_THAT(FaultOf([&name](v1::Hello& h) { h.mutable_sources(2)->add_classes(name); }),
                HasSubstr("hello.sources[2].classes: "));
  }
}

}  // namespace
}  // namespace tributary::wire
