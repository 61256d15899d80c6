#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "core/parameters/npy.h"
#include "core/runtime/file.h"
#include "core/scene/room_examples.h"
#include "tests/support/own_folder.h"

namespace tributary::cli {
namespace {

class InferTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::path(OwnFolder()) / ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }

  void WriteFeatures(std::uint64_t rows, std::uint64_t columns, const std::vector<float>& values) {
    const std::array<std::uint64_t, 2> shape = {rows, columns};
    ASSERT_TRUE(runtime::WriteFileAtomically(Path("x.npy"), parameters::EncodeNpy(shape, values)).ok());
  }

  int Run(const std::string& format = "float", const std::string& out = "y.npy") {
    CLI::App app;
    int exit_code = 0;
    Commands program(app, exit_code);
    AddInferCommand(program);
    try {
      app.parse("infer --model " TRIBUTARY_SOURCE_DIR "/models/positioning.safetensors --features " +
                Path("x.npy") + " --out " + Path(out) + " --format " + format);
    } catch (const CLI::ParseError&) {
      return 64;
    }
    return exit_code;
  }

  std::filesystem::path folder_;
};

TEST_F(InferTest, LocatesUsersInThePanelsFrame) {
  constexpr std::size_t kUsers = 70;  // more than one batch
  const scene::RoomExamples examples{77};
  std::vector<float> features(kUsers * scene::kChannelFeatures);
  for (std::size_t i = 0; i < kUsers; ++i) {
    examples.Sense(i, scene::Wall::kEast,
                   std::span<float, scene::kChannelFeatures>(&features[i * scene::kChannelFeatures],
                                                             scene::kChannelFeatures));
  }
  WriteFeatures(kUsers, scene::kChannelFeatures, features);
  for (const char* format : {"float", "int16", "int8_16"}) {
    ASSERT_EQ(Run(format), 0) << format;
    const auto out = parameters::DecodeNpy(*runtime::ReadFile(Path("y.npy")));
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_EQ(out->shape, (std::vector<std::uint64_t>{kUsers, 5}));
    for (std::size_t i = 0; i < kUsers; ++i) {
      const scene::RoomPosition truth = scene::ToPanelFrame(scene::Wall::kEast, examples.User(i));
      EXPECT_LT(std::hypot(out->values[5 * i] - truth.x, out->values[5 * i + 1] - truth.y), 0.3);
      EXPECT_GT(out->values[5 * i + 2], 0);
      EXPECT_GT(out->values[5 * i + 4], 0);
    }
  }
}

TEST_F(InferTest, GivesAnEmptyArrayForAnEmptyArray) {
  WriteFeatures(0, scene::kChannelFeatures, {});
  ASSERT_EQ(Run(), 0);
  EXPECT_EQ(parameters::DecodeNpy(*runtime::ReadFile(Path("y.npy")))->shape,
            (std::vector<std::uint64_t>{0, 5}));
}

TEST_F(InferTest, RefusesAnotherShapeOrValuesThatAreNotFinite) {
  WriteFeatures(1, 7, std::vector<float>(7));
  EXPECT_EQ(Run(), 65);
  std::vector<float> features(scene::kChannelFeatures, 1.0f);
  features[3] = std::nanf("");
  WriteFeatures(1, scene::kChannelFeatures, features);
  EXPECT_EQ(Run(), 65);
  EXPECT_FALSE(std::filesystem::exists(Path("y.npy")));
}

TEST_F(InferTest, DoesNotOverwriteWhatItReads) {
  WriteFeatures(1, scene::kChannelFeatures, std::vector<float>(scene::kChannelFeatures, 1.0f));
  const std::string features = *runtime::ReadFile(Path("x.npy"));
  EXPECT_EQ(Run("float", "x.npy"), 64);
  EXPECT_EQ(*runtime::ReadFile(Path("x.npy")), features);
}

TEST_F(InferTest, TakesEitherFeaturesOrBursts) {
  WriteFeatures(1, scene::kChannelFeatures, std::vector<float>(scene::kChannelFeatures, 1.0f));
  const std::string file = Path("x.npy"), out = " --out " + Path("y.npy");
  for (const std::string& inputs : {std::string(), "--features " + file + " --iq " + file}) {
    CLI::App app;
    int exit_code = 0;
    Commands program(app, exit_code);
    AddInferCommand(program);
    app.parse("infer " + inputs + out);
    EXPECT_EQ(exit_code, 64) << inputs;
  }
}

TEST_F(InferTest, RefusesAnUnknownFormat) {
  WriteFeatures(1, scene::kChannelFeatures, std::vector<float>(scene::kChannelFeatures, 1.0f));
  EXPECT_EQ(Run("int4"), 64);
}

}  // namespace
}  // namespace tributary::cli
