#include "core/graph/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "core/graph/memory_plan.h"
#include "core/graph/onnx_fixture.h"
#include "core/nn/kernel/random_stream.h"

namespace tributary::graph {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ModelText;

std::unique_ptr<Session> Loaded(const ModelText& model, const SessionOptions& options = {}) {
  auto session = Session::Load(model.Bytes(), options);
  EXPECT_TRUE(session.ok()) << session.status();
  return session.ok() ? *std::move(session) : nullptr;
}

std::string LoadFault(const ModelText& model) {
  return std::string(Session::Load(model.Bytes()).status().message());
}

std::vector<float> Floats(const View& view) {
  const std::span<const float> values = view.As<float>();
  return {values.begin(), values.end()};
}

Array Given(const Shape& shape, const std::vector<float>& values) {
  Array array({ElementType::kFloat32, shape});
  std::ranges::copy(values, array.As<float>().begin());
  return array;
}

TEST(SessionTest, ComputesAGraph) {
  const auto session = Loaded(ModelText()
                                  .Input("x", {2, 2})
                                  .Floats("w", {2, 2}, {1, 2, 3, 4})
                                  .Floats("b", {2}, {-10, 1})
                                  .Node("MatMul", {"x", "w"}, "product")
                                  .Node("Add", {"product", "b"}, "sum")
                                  .Node("Relu", {"sum"}, "y")
                                  .Output("y"));
  ASSERT_NE(session, nullptr);
  const Array x = Given({2, 2}, {1, 0, 0, 1});
  for (int run = 0; run < 2; ++run) {
    const View views[] = {x.view()};
    ASSERT_TRUE(session->Run(views).ok());
    EXPECT_THAT(Floats(session->output(0)), ElementsAre(0, 3, 0, 5));
  }
  EXPECT_EQ(session->nodes()[0].products, 8);
  EXPECT_EQ(session->nodes()[0].result, "float32 [2, 2]");
}

TEST(SessionTest, WhatIsKnownIsComputedAtOnce) {
  const auto session = Loaded(ModelText()
                                  .Input("x", {2, 6})
                                  .Integers("three", {3})
                                  .Integers("zero", {0})
                                  .Node("Shape", {"x"}, "shape")
                                  .Node("Gather", {"shape", "zero"}, "rows")
                                  .Node("Concat", {"rows", "three"}, "front", {{"axis", 0}})
                                  .Integers("rest", {-1})
                                  .Node("Concat", {"front", "rest"}, "to", {{"axis", 0}})
                                  .Node("Reshape", {"x", "to"}, "y")
                                  .Output("y"));
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->nodes().size(), 1u);
  EXPECT_EQ(session->outputs()[0].spec.shape, (Shape{2, 3, 2}));
}

TEST(SessionTest, AnInputOrAConstantMayBeAnOutput) {
  const auto session = Loaded(ModelText().Input("x", {2}).Floats("c", {1}, {4}).Output("x").Output("c"));
  ASSERT_NE(session, nullptr);
  const Array x = Given({2}, {1, 2});
  const View views[] = {x.view()};
  ASSERT_TRUE(session->Run(views).ok());
  EXPECT_THAT(Floats(session->output(0)), ElementsAre(1, 2));
  EXPECT_THAT(Floats(session->output(1)), ElementsAre(4));
}

// A chain takes the memory of two links, however long it is.
TEST(SessionTest, MemoryOfResultsIsUsedAgain) {
  ModelText model = ModelText().Input("x", {1024});
  std::string last = "x";
  for (int i = 0; i < 50; ++i) {
    const std::string next = "v" + std::to_string(i);
    model.Node("Relu", {last}, next);
    last = next;
  }
  const auto session = Loaded(model.Output(last));
  ASSERT_NE(session, nullptr);
  EXPECT_LT(session->memory_bytes(), 3 * 4096u);
  const Array x = Given({1024}, std::vector<float>(1024, 2.5f));
  const View views[] = {x.view()};
  ASSERT_TRUE(session->Run(views).ok());
  EXPECT_EQ(Floats(session->output(0)), std::vector<float>(1024, 2.5f));
}

// Every value is read long after it was made.
TEST(SessionTest, AValueLivesUntilItsLastReader) {
  ModelText model = ModelText().Input("x", {16}).Floats("one", {16}, std::vector<float>(16, 1));
  std::string last = "x";
  constexpr int kLinks = 20;
  for (int i = 0; i < kLinks; ++i) {
    model.Node("Add", {last, "one"}, "v" + std::to_string(i));
    last = "v" + std::to_string(i);
  }
  for (int i = 0; i < kLinks; ++i) {
    model.Node("Add", {last, "v" + std::to_string(i)}, "w" + std::to_string(i));
    last = "w" + std::to_string(i);
  }
  const auto session = Loaded(model.Output(last));
  ASSERT_NE(session, nullptr);
  const Array x = Given({16}, std::vector<float>(16, 0));
  const View views[] = {x.view()};
  ASSERT_TRUE(session->Run(views).ok());
  // 20 and 1 + … + 20.
  EXPECT_EQ(Floats(session->output(0)), std::vector<float>(16, 230));
}

TEST(SessionTest, TheMemoryIsCheckedBeforeItIsTaken) {
  const ModelText large = ModelText().Input("x", {1 << 15, 1 << 15}).Node("Relu", {"x"}, "y").Output("y");
  EXPECT_THAT(LoadFault(large), AllOf(HasSubstr("4294967296 bytes"), HasSubstr("268435456 are allowed")));
  const ModelText folded = ModelText()
                               .Floats("c", {1}, {1})
                               .Integers("to", {1 << 28})
                               .Node("Expand", {"c", "to"}, "y")
                               .Output("y");
  EXPECT_EQ(Session::Load(folded.Bytes()).status().code(), absl::StatusCode::kResourceExhausted);
  const ModelText columns = ModelText()
                                .Input("x", {1, 64, 512, 512})
                                .Floats("w", {1, 64, 3, 3}, std::vector<float>(576))
                                .Node("Conv", {"x", "w"}, "y")
                                .Output("y");
  EXPECT_EQ(Session::Load(columns.Bytes()).status().code(), absl::StatusCode::kResourceExhausted);
}

// A few bytes could keep a panel busy for years.
TEST(SessionTest, WorkWithoutEndIsRefused) {
  ModelText pool = ModelText().Input("x", {1, 1, 4});
  pool.Node("MaxPool", {"x"}, "y").Output("y");
  const auto set = [&pool](const std::string& name, std::initializer_list<std::int64_t> values) {
    onnx::AttributeProto& attribute = *pool.graph().mutable_node(0)->add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INTS);
    attribute.mutable_ints()->Add(values.begin(), values.end());
  };
  set("kernel_shape", {1 << 22});
  set("pads", {(1 << 22) - 1, (1 << 22) - 1});
  EXPECT_THAT(LoadFault(pool), HasSubstr("multiply-accumulates; at most"));
  const ModelText product = ModelText().Input("x", {5000, 5000}).Node("MatMul", {"x", "x"}, "y").Output("y");
  EXPECT_THAT(LoadFault(product),
              AllOf(HasSubstr("node \"y\""), HasSubstr("125000000000 multiply-accumulates")));
}

TEST(SessionTest, NamesTheNodeAtFault) {
  EXPECT_THAT(LoadFault(ModelText().Input("x", {2}).Node("Fourier", {"x"}, "y").Output("y")),
              AllOf(HasSubstr("node \"y\" (Fourier)"), HasSubstr("not known"), HasSubstr("Conv")));
  EXPECT_THAT(LoadFault(ModelText().Input("x", {2}).Input("z", {3}).Node("Add", {"x", "z"}, "y").Output("y")),
              AllOf(HasSubstr("node \"y\" (Add)"), HasSubstr("[2] and [3] do not fit")));
  EXPECT_THAT(LoadFault(ModelText().Input("x", {2, 2}).Node("MatMul", {"x"}, "y").Output("y")),
              HasSubstr("1 inputs; 2 to 2"));
  EXPECT_THAT(LoadFault(ModelText()
                            .Input("x", {2})
                            .Input("s", {1}, onnx::TensorProto::INT64)
                            .Node("Reshape", {"x", "s"}, "y")
                            .Output("y")),
              HasSubstr("must be a constant"));
  EXPECT_THAT(LoadFault(ModelText()
                            .Input("x", {1, 1, 4, 4})
                            .Floats("w", {1, 1, 9, 9}, std::vector<float>(81))
                            .Node("Conv", {"x", "w"}, "y")
                            .Output("y")),
              HasSubstr("larger than the image"));
}

TEST(SessionTest, RefusesScalesThatAreNone) {
  for (const float scale :
       {0.0f, -1.0f, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    EXPECT_THAT(LoadFault(ModelText()
                              .Input("x", {2})
                              .Floats("s", {}, {scale})
                              .Node("QuantizeLinear", {"x", "s"}, "y")
                              .Output("y")),
                HasSubstr("a scale is"));
  }
}

TEST(SessionTest, ValuesThatANodeCannotTakeEndTheRun) {
  const auto session = Loaded(ModelText()
                                  .Floats("table", {3}, {1, 2, 3})
                                  .Input("which", {1}, onnx::TensorProto::INT64)
                                  .Node("Gather", {"table", "which"}, "y")
                                  .Output("y"));
  ASSERT_NE(session, nullptr);
  Array which({ElementType::kInt64, {1}});
  const View views[] = {which.view()};
  which.As<std::int64_t>()[0] = -1;
  ASSERT_TRUE(session->Run(views).ok());
  EXPECT_THAT(Floats(session->output(0)), ElementsAre(3));
  which.As<std::int64_t>()[0] = 3;
  EXPECT_THAT(std::string(session->Run(views).message()),
              AllOf(HasSubstr("node \"y\""), HasSubstr("the index 3 of 3")));
}

TEST(SessionTest, OtherInputsAreRefused) {
  const auto session = Loaded(ModelText().Input("x", {2}).Node("Relu", {"x"}, "y").Output("y"));
  ASSERT_NE(session, nullptr);
  EXPECT_FALSE(session->Run({}).ok());
  const Array x = Given({3}, {1, 2, 3});
  const View views[] = {x.view()};
  EXPECT_THAT(std::string(session->Run(views).message()),
              AllOf(HasSubstr("float32 [3]"), HasSubstr("float32 [2] is expected")));
}

// Random takes and returns: no two places overlap, and nothing is lost.
TEST(MemoryPlanTest, PlacesNeverOverlap) {
  struct Taken {
    std::size_t offset, size;
  };
  nn::RandomStream random(4);
  MemoryPlan plan;
  std::vector<Taken> taken;
  for (int i = 0; i < 20'000; ++i) {
    if (!taken.empty() && random.Below(2) == 0) {
      const std::size_t which = random.Below(taken.size());
      plan.GiveBack(taken[which].offset, taken[which].size);
      taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(which));
      continue;
    }
    const Taken next{0, random.Below(1000)};
    const std::size_t offset = plan.Take(next.size);
    ASSERT_EQ(offset % MemoryPlan::kAlignment, 0u);
    ASSERT_LE(offset + next.size, plan.bytes());
    for (const Taken& other : taken) {
      ASSERT_TRUE(offset + next.size <= other.offset || other.offset + other.size <= offset);
    }
    taken.push_back({offset, next.size});
  }
  for (const Taken& each : taken) plan.GiveBack(each.offset, each.size);
  EXPECT_EQ(plan.Take(plan.bytes()), 0u) << "all of it is one gap again";
}

}  // namespace
}  // namespace tributary::graph
