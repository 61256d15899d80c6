// Arguments and models that mean no good: every call answers, and says what is wrong.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "clients/delegate/tests/delegate_models.h"
#include "clients/delegate/tributary_delegate.h"
#include "core/nn/kernel/random_stream.h"

namespace tributary::delegate {
namespace {

using testing::AffineModel;
using testing::LayersModel;

class DelegateTest : public ::testing::Test {
 protected:
  ~DelegateTest() override { tributary_delegate_close(delegate_); }

  tributary_delegate_status Open(std::string_view model,
                                 const tributary_delegate_options* options = nullptr) {
    return tributary_delegate_open_memory(model.data(), model.size(), options, &delegate_);
  }
  void ExpectRefused(tributary_delegate_status status, std::string_view text) {
    EXPECT_EQ(status, TRIBUTARY_DELEGATE_INVALID_ARGUMENT);
    EXPECT_NE(LastError().find(text), std::string::npos) << LastError();
  }
  static std::string LastError() { return tributary_delegate_last_error(); }

  tributary_delegate* delegate_ = nullptr;
};

TEST_F(DelegateTest, RefusesNull) {
  const std::string model = AffineModel();
  ExpectRefused(tributary_delegate_open_memory(nullptr, 0, nullptr, &delegate_), "bytes is NULL");
  ExpectRefused(tributary_delegate_open_memory(model.data(), model.size(), nullptr, nullptr),
                "delegate is NULL");
  ExpectRefused(tributary_delegate_open_file(nullptr, nullptr, &delegate_), "path is NULL");
  tributary_delegate_port port = {};
  tributary_delegate_node node = {};
  tributary_delegate_plan plan = {};
  ExpectRefused(tributary_delegate_input(nullptr, 0, &port), "delegate is NULL");
  ExpectRefused(tributary_delegate_output(nullptr, 0, &port), "delegate is NULL");
  ExpectRefused(tributary_delegate_node_at(nullptr, 0, &node), "delegate is NULL");
  ExpectRefused(tributary_delegate_plan_of(nullptr, &plan), "delegate is NULL");
  ExpectRefused(tributary_delegate_run(nullptr, nullptr, 0, nullptr, 0), "delegate is NULL");
  EXPECT_EQ(tributary_delegate_input_count(nullptr), 0u);
  EXPECT_EQ(tributary_delegate_output_count(nullptr), 0u);
  EXPECT_EQ(tributary_delegate_node_count(nullptr), 0u);
  tributary_delegate_close(nullptr);
  ASSERT_EQ(Open(model), TRIBUTARY_DELEGATE_OK) << LastError();
  ExpectRefused(tributary_delegate_input(delegate_, 0, nullptr), "port is NULL");
  ExpectRefused(tributary_delegate_node_at(delegate_, 0, nullptr), "node is NULL");
  ExpectRefused(tributary_delegate_plan_of(delegate_, nullptr), "plan is NULL");
  port.struct_size = sizeof port;
  ExpectRefused(tributary_delegate_input(delegate_, 1, &port), "index is 1; there are 1");
  ExpectRefused(tributary_delegate_output(delegate_, SIZE_MAX, &port), "index is");
}

TEST_F(DelegateTest, RefusesOptionsThatItDoesNotKnow) {
  const std::string model = AffineModel();
  const auto refuse = [&](std::string_view text, const auto& change) {
    tributary_delegate_options options = {};
    options.struct_size = sizeof options;
    change(options);
    ExpectRefused(Open(model, &options), text);
    EXPECT_EQ(delegate_, nullptr);
  };
  refuse("struct_size is 0", [](auto& options) { options.struct_size = 0; });
  refuse("struct_size is 8", [](auto& options) { options.struct_size = 8; });
  refuse("struct_size", [](auto& options) { options.struct_size = SIZE_MAX; });
  refuse("accelerator is \"xrt\"", [](auto& options) { options.accelerator = "xrt"; });
  refuse("lanes is 12", [](auto& options) { options.lanes = 12; });
  refuse("arithmetic is 7", [](auto& options) { options.arithmetic = 7; });
  refuse("reserved", [](auto& options) { options.reserved = 1; });
  refuse("strict needs", [](auto& options) { options.strict = 1; });
  refuse("dimensions is NULL", [](auto& options) { options.dimension_count = 1; });
  refuse("dimension_count", [](auto& options) { options.dimension_count = SIZE_MAX; });
  static const tributary_delegate_dimension kNameless = {nullptr, 1}, kEmpty = {"N", 0},
                                            kTwice[] = {{"N", 2}, {"N", 3}}, kVast = {"N", INT64_MAX};
  refuse("dimensions[0].name is NULL",
         [](auto& options) { options.dimensions = &kNameless, options.dimension_count = 1; });
  refuse("dimensions[0].size is 0",
         [](auto& options) { options.dimensions = &kEmpty, options.dimension_count = 1; });
  refuse("dimensions[1]", [](auto& options) { options.dimensions = kTwice, options.dimension_count = 2; });
  refuse("too large", [](auto& options) { options.dimensions = &kVast, options.dimension_count = 1; });
}

// A caller whose header has one more field.
TEST_F(DelegateTest, KnowsWhatANewerCallerSets) {
  struct Newer {
    tributary_delegate_options options = {};
    std::uint64_t unknown = 0;
  } newer;
  newer.options.struct_size = sizeof newer;
  EXPECT_EQ(Open(AffineModel(), &newer.options), TRIBUTARY_DELEGATE_OK) << LastError();
  struct NewerPlan {
    tributary_delegate_plan plan = {};
    std::uint64_t unknown = 7;
  } plan;
  plan.plan.struct_size = sizeof plan;
  EXPECT_EQ(tributary_delegate_plan_of(delegate_, &plan.plan), TRIBUTARY_DELEGATE_OK) << LastError();
  EXPECT_EQ(plan.plan.struct_size, sizeof plan);
  EXPECT_EQ(plan.plan.nodes, 2u);
  EXPECT_EQ(plan.unknown, 0u);
  tributary_delegate_close(delegate_);
  newer.unknown = 1;
  ExpectRefused(Open(AffineModel(), &newer.options), "older than the options");
}

// Opens, looks at all that there is, and runs what is small.
class HostileModels {
 public:
  void Try(std::string_view model) {
    static constexpr const char* kAccelerators[] = {"cpu", "tensor-model"};
    tributary_delegate_options options = {};
    options.struct_size = sizeof options;
    options.memory_bytes = 1 << 21;
    options.lanes = 8;
    options.accelerator = kAccelerators[tried_++ % 2];
    tributary_delegate* delegate = nullptr;
    if (tributary_delegate_open_memory(model.data(), model.size(), &options, &delegate) !=
        TRIBUTARY_DELEGATE_OK) {
      EXPECT_EQ(delegate, nullptr);
      EXPECT_STRNE(tributary_delegate_last_error(), "");
      ++refused_;
      return;
    }
    Use(delegate);
    tributary_delegate_close(delegate);
  }
  int refused() const { return refused_; }
  int ran() const { return ran_; }

 private:
  void Use(tributary_delegate* delegate) {
    tributary_delegate_node node = {};
    node.struct_size = sizeof node;
    for (std::size_t n = 0; n < tributary_delegate_node_count(delegate); ++n) {
      EXPECT_EQ(tributary_delegate_node_at(delegate, n, &node), TRIBUTARY_DELEGATE_OK);
      EXPECT_NE(node.operation, nullptr);
    }
    tributary_delegate_plan plan = {};
    plan.struct_size = sizeof plan;
    EXPECT_EQ(tributary_delegate_plan_of(delegate, &plan), TRIBUTARY_DELEGATE_OK);
    EXPECT_LE(plan.memory_bytes, 1u << 21);
    if (plan.multiply_accumulates > 1'000'000) return;
    std::vector<std::vector<std::uint64_t>> memory;
    std::vector<tributary_delegate_input_array> inputs;
    std::vector<tributary_delegate_output_array> outputs;
    tributary_delegate_port port = {};
    port.struct_size = sizeof port;
    for (std::size_t i = 0; i < tributary_delegate_input_count(delegate); ++i) {
      EXPECT_EQ(tributary_delegate_input(delegate, i, &port), TRIBUTARY_DELEGATE_OK);
      if (port.bytes > 1 << 20) return;  // nothing bounds what a caller brings along
      inputs.push_back(
          {memory.emplace_back(port.bytes / 8 + 1, 0x7f40'1f80'ff01'3fffull).data(), port.bytes, port.type});
    }
    for (std::size_t o = 0; o < tributary_delegate_output_count(delegate); ++o) {
      EXPECT_EQ(tributary_delegate_output(delegate, o, &port), TRIBUTARY_DELEGATE_OK);
      if (port.bytes > 1 << 22) return;
      outputs.push_back({memory.emplace_back(port.bytes / 8 + 1).data(), port.bytes, port.type});
    }
    const auto status =
        tributary_delegate_run(delegate, inputs.data(), inputs.size(), outputs.data(), outputs.size());
    EXPECT_TRUE(status == TRIBUTARY_DELEGATE_OK || status == TRIBUTARY_DELEGATE_INVALID_ARGUMENT)
        << status << ": " << tributary_delegate_last_error();
    ran_ += status == TRIBUTARY_DELEGATE_OK ? 1 : 0;
  }

  int tried_ = 0, refused_ = 0, ran_ = 0;
};

TEST(HostileModelTest, EveryPrefixIsRefusedOrRuns) {
  for (const std::string& model : {AffineModel(), LayersModel()}) {
    HostileModels hostile;
    for (std::size_t length = 0; length < model.size(); ++length)
      hostile.Try(std::string_view(model).substr(0, length));
    EXPECT_GT(hostile.refused(), static_cast<int>(model.size() / 2));
  }
}

TEST(HostileModelTest, ChangedBytesAreRefusedOrRun) {
  nn::RandomStream random(17);
  HostileModels hostile;
  for (const std::string& model : {AffineModel(), LayersModel()}) {
    for (int round = 0; round < 2'000; ++round) {
      std::string changed = model;
      const std::uint64_t changes = 1 + random.Below(4);
      for (std::uint64_t c = 0; c < changes; ++c) {
        const std::size_t place = random.Below(changed.size());
        const auto byte = static_cast<char>(random.Bits() & 0xff);
        switch (random.Below(3)) {
          case 0:
            changed[place] = byte;
            break;
          case 1:
            changed.insert(place, 1, byte);
            break;
          default:
            changed.erase(place, 1);
        }
      }
      hostile.Try(changed);
    }
  }
  EXPECT_GT(hostile.refused(), 500);
  EXPECT_GT(hostile.ran(), 100);
}

// In a process of its own, which may take some memory but not what the graph needs.
TEST_F(DelegateTest, SaysThatMemoryHasRunOut) {
#ifdef TRIBUTARY_SANITIZED
  GTEST_SKIP() << "a sanitizer takes more address space than can be limited";
#endif
  const std::string model = AffineModel();
  const tributary_delegate_dimension rows = {"N", std::int64_t{1} << 27};
  tributary_delegate_options options = {};
  options.struct_size = sizeof options;
  options.memory_bytes = UINT64_MAX;
  options.dimensions = &rows;
  options.dimension_count = 1;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const rlimit limit = {1 << 30, 1 << 30};
    if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(99);
    const auto status = Open(model, &options);
    _exit(delegate_ == nullptr && LastError() == "there is not enough memory" ? status : 98);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "the library ended the process: " << status;
  EXPECT_EQ(WEXITSTATUS(status), TRIBUTARY_DELEGATE_EXHAUSTED);
}

// Bytes of a name that would act on a terminal, and more of them than the text holds.
TEST_F(DelegateTest, ErrorsAreOneLineOfPlainText) {
  const std::string name = "\x1b[2J\n\xff" + std::string(5'000, 'n');
  graph::testing::ModelText model;
  model.Input("x", {2}).Node("Relu", {"x"}, "y").Output(name);
  ASSERT_NE(Open(model.Bytes()), TRIBUTARY_DELEGATE_OK);
  EXPECT_LE(LastError().size(), 2'047u);
  for (const char c : LastError()) EXPECT_TRUE(c >= 0x20 && c < 0x7f);
}

TEST_F(DelegateTest, EachThreadHasItsOwnLastError) {
  ExpectRefused(Open("no model"), "");
  const std::string ours = LastError();
  std::string others;
  std::thread([&] { others = tributary_delegate_last_error(); }).join();
  EXPECT_EQ(others, "");
  EXPECT_NE(ours, "");
}

// The results of whoever was let in are right; the others are told to try again.
TEST_F(DelegateTest, ASecondRunAtTheSameTimeIsRefused) {
  ASSERT_EQ(Open(AffineModel()), TRIBUTARY_DELEGATE_OK) << LastError();
  std::atomic<int> right = 0, refused = 0, wrong = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 5'000; ++round) {
        const std::array<float, 2> x = {static_cast<float>(t), static_cast<float>(round % 100)};
        std::array<float, 3> y = {};
        const tributary_delegate_input_array input = {x.data(), sizeof x, TRIBUTARY_DELEGATE_FLOAT32};
        const tributary_delegate_output_array output = {y.data(), sizeof y, TRIBUTARY_DELEGATE_FLOAT32};
        const auto status = tributary_delegate_run(delegate_, &input, 1, &output, 1);
        const bool as_expected = y[0] == x[0] + 4 * x[1] + 0.5f && y[2] == 3 * x[0] + 6 * x[1] - 0.5f;
        if (status == TRIBUTARY_DELEGATE_OK) {
          ++(as_expected ? right : wrong);
        } else {
          ++(status == TRIBUTARY_DELEGATE_UNAVAILABLE ? refused : wrong);
        }
      }
    });
  }
  threads.clear();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(right, 0);  // how many is a matter of the scheduler
  EXPECT_EQ(right + refused, 20'000);
}

}  // namespace
}  // namespace tributary::delegate
