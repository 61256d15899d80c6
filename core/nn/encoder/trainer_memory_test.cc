// What a training needs is known before it is allocated.
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <new>

#include "core/nn/encoder/encoder_file.h"
#include "core/nn/encoder/self_supervised_trainer.h"
#include "core/parameters/safetensors.h"

namespace tributary::nn {
namespace {

std::uint64_t AllocatedBytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

SelfSupervisedOptions Quantised() {
  SelfSupervisedOptions options;
  options.encoder.norm = EncoderNorm::kNone;
  options.encoder.activation = EncoderActivation::kHardClip;
  options.encoder.quantised = true;
  return options;
}

class TrainerMemoryTest : public ::testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override {
#ifdef TRIBUTARY_SANITIZED
    GTEST_SKIP() << "the sanitizer's malloc does not count";
#endif
  }

  // One per mille and 64 KiB are for what malloc and the alignment add to each block, and for names.
  static void ExpectKnown(SelfSupervisedOptions options) {
    options.batch = GetParam();
    // The first trainer of a process also allocates for the process, which is not counted here.
    ASSERT_TRUE(SelfSupervisedTrainer::Create(options).ok());
    const std::uint64_t before = AllocatedBytes();
    const auto trainer = SelfSupervisedTrainer::Create(options);
    ASSERT_TRUE(trainer.ok()) << trainer.status();
    const auto held = static_cast<double>(AllocatedBytes() - before);
    const auto known = static_cast<double>(TrainerBytes(options));
    EXPECT_LE(known, held);
    EXPECT_LE(held, 1.001 * known + (64 << 10));
  }
};

TEST_P(TrainerMemoryTest, TheDefaultNetworkNeedsWhatIsKnownBefore) { ExpectKnown({}); }

TEST_P(TrainerMemoryTest, AFreshModelOfSimClrNeedsWhatIsKnownBefore) {
  ExpectKnown(FreshOptions(SelfSupervisedMethod::kSimClr));
}

TEST_P(TrainerMemoryTest, TheBoardsNetworkNeedsWhatIsKnownBefore) { ExpectKnown(Quantised()); }

TEST_P(TrainerMemoryTest, ATargetNetworkAndAnotherShapeNeedWhatIsKnownBefore) {
  SelfSupervisedOptions options;
  options.method = SelfSupervisedMethod::kByol;
  options.encoder.side = 61;
  options.encoder.channels = {5, 40, 17, 3};
  options.encoder.norm = EncoderNorm::kFilterResponse;
  options.projection = 300;
  options.bottleneck = 20;
  options.head_norm = false;
  ExpectKnown(options);
}

INSTANTIATE_TEST_SUITE_P(Batches, TrainerMemoryTest, ::testing::Values(2, 32, 250));

// 4,096 images through the default encoder took the node that shared its process with four panels.
TEST(TrainerMemoryBoundTest, TheLargestBatchOfTheDefaultNetworkNeedsGigabytes) {
  SelfSupervisedOptions options;
  options.batch = 4096;
  EXPECT_GT(TrainerBytes(options), std::uint64_t{1} << 30);
}

TEST(TrainerMemoryBoundTest, TheLargestNetworkThatATaskMayNameIsCountedWithoutOverflow) {
  SelfSupervisedOptions options;
  options.encoder.side = 256;
  options.encoder.channels.assign(6, 512);
  options.projection = 4096;
  options.bottleneck = 4096;
  options.batch = 4096;
  EXPECT_GT(TrainerBytes(options), std::uint64_t{1} << 40);
}

// The metadata of a few bytes' file names a network of gigabytes.
TEST(TrainerMemoryBoundTest, AFileThatOnlyNamesALargeNetworkTakesNoMemoryForIt) {
  SelfSupervisedOptions options;
  options.encoder.side = 12;
  options.encoder.channels = {3};
  options.encoder.grid = 1;
  parameters::TensorSet set =
      *parameters::DecodeSafetensors(EncodeEncoder(**SelfSupervisedTrainer::Create(options)));
  set.metadata["side"] = std::string("256");
  set.metadata["grid"] = std::string("128");
  set.metadata["projection"] = std::string("4096");
  const std::string file = parameters::EncodeSafetensors(set);
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  EXPECT_FALSE(DecodeEncoder(file).ok());
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 << 10);
}

// Not a fault of the address: the learner declines the task.
TEST(TrainerMemoryBoundTest, ANetworkBeyondTheProcesssLimitIsAFailedAllocation) {
#ifdef TRIBUTARY_SANITIZED
  GTEST_SKIP() << "the sanitizer's shadow does not fit into the limit";
#endif
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{std::uint64_t{1} << 30, std::uint64_t{1} << 30};
    setrlimit(RLIMIT_AS, &limit);
    SelfSupervisedOptions options;
    options.batch = 4096;
    try {
      const auto trainer = SelfSupervisedTrainer::Create(options);
    } catch (const std::bad_alloc&) {
      _exit(0);
    }
    _exit(1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace tributary::nn
