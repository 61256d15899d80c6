#include <cmath>

#include "Vtensor_int32.h"
#include "fpga/model/tensor_int32.h"
#include "fpga/tb/tensor/integer_dense_bench.h"

namespace tributary::fpga {
namespace {

struct Int32Format {
  using Top = Vtensor_int32;
  using Value = std::int32_t;
  using Sum = absl::int128;
  using Channel = TensorInt32Channel;
  using Output = TensorInt32Output;
  static constexpr bool kTwoVectors = false;
  static constexpr std::size_t kLatency = 2 + 7;
  static constexpr unsigned kProductBits = 65;
  static constexpr auto Encode = EncodeInt32Channel;
  static constexpr auto ResultOf = Int32ScaledOutputOf;

  static absl::int128 RandomWide(std::mt19937_64& random) {
    const auto upper = static_cast<std::int64_t>(random());
    return absl::MakeInt128(upper, random());
  }

  static Channel RandomChannel(std::mt19937_64& random) {
    if (random() % 4 == 0) {
      return {.bias = RandomWide(random) >> (128 - kInt32BiasBits),
              .multiplier = random() >> 30,
              .shift = static_cast<std::uint8_t>(random() % 64)};
    }
    Channel channel = *Int32ChannelOf(std::ldexp(1.0 + static_cast<double>(random() % 100'000) / 100'000,
                                                 -static_cast<int>(random() % 60)));
    channel.bias = RandomWide(random) >> static_cast<int>(128 - kInt32BiasBits + random() % 80);
    return channel;
  }

  // Its result is often neither 0 nor a limit.
  static Sum RandomSum(std::mt19937_64& random, const Channel& channel) {
    const int bits = random() % 4 == 0 ? 39 + static_cast<int>(random() % 88) : 128 - 32 - channel.shift;
    return RandomWide(random) >> std::max(bits, 39);
  }

  static Output RandomOutput(std::mt19937_64& random) {
    const auto limit = [&] { return static_cast<std::int32_t>(random()); };
    return {.low = std::min(limit(), 0), .high = std::max(limit(), 0)};
  }
  static void SetOutput(auto& command, const Output& output) {
    SetBits(command, 384, 32, static_cast<std::uint32_t>(output.low));
    SetBits(command, 416, 32, static_cast<std::uint32_t>(output.high));
  }
};
using TensorInt32DenseTest = IntegerDenseBench<Int32Format>;

TEST_F(TensorInt32DenseTest, AddsTheProductsOfEveryTile) {
  AddTiles(4000);
  EXPECT_GT(compared_, 30'000);
}

TEST_F(TensorInt32DenseTest, ScalesAndLimitsSumsBitForBit) {
  ScaleBlocks(200);
  EXPECT_GT(compared_, 25'000);
}

}  // namespace
}  // namespace tributary::fpga
