#include <cmath>

#include "Vtensor_int16.h"
#include "fpga/model/tensor_int16.h"
#include "fpga/tb/tensor/integer_dense_bench.h"

namespace tributary::fpga {
namespace {

struct Int16Format {
  using Top = Vtensor_int16;
  using Value = std::int16_t;
  using Sum = std::int64_t;
  using Channel = TensorInt16Channel;
  using Output = TensorInt16Output;
  static constexpr bool kTwoVectors = true;
  static constexpr std::size_t kLatency = 4 + 4;
  static constexpr unsigned kProductBits = 34;
  static constexpr auto Encode = EncodeInt16Channel;
  static constexpr auto ResultOf = Int16OutputOf;
  static constexpr auto Result32Of = Int32OutputOf;

  static Channel RandomChannel(std::mt19937_64& random) {
    if (random() % 4 == 0) {
      return {.bias = static_cast<std::int64_t>(random()) >> 16,
              .multiplier = static_cast<std::uint32_t>(random() % (1 << 17)),
              .shift = static_cast<std::uint8_t>(random() % 64)};
    }
    Channel channel = *Int16ChannelOf(
        std::ldexp(1.0 + static_cast<double>(random() % 1000) / 1000, -static_cast<int>(random() % 50)));
    channel.bias = static_cast<std::int64_t>(random()) >> (16 + random() % 40);
    return channel;
  }

  // Its result is often neither 0 nor a limit.
  static Sum RandomSum(std::mt19937_64& random, const Channel& channel) {
    const unsigned bits = random() % 4 == 0 ? 6 + static_cast<unsigned>(random() % 58)
                                            : std::clamp(64u - 16u - channel.shift, 6u, 63u);
    return static_cast<std::int64_t>(random()) >> bits;
  }

  static Output RandomOutput(std::mt19937_64& random) {
    const auto limit = [&] { return static_cast<std::int16_t>(random()); };
    return {.zero = limit(),
            .low = std::min(limit(), std::int16_t{0}),
            .high = std::max(limit(), std::int16_t{0})};
  }
  static void SetOutput(auto& command, const Output& output) {
    SetBits(command, 400, 16, static_cast<std::uint16_t>(output.zero));
    SetBits(command, 416, 16, static_cast<std::uint16_t>(output.low));
    SetBits(command, 432, 16, static_cast<std::uint16_t>(output.high));
  }
};
using TensorInt16DenseTest = IntegerDenseBench<Int16Format>;

TEST_F(TensorInt16DenseTest, AddsTheProductsOfEveryTile) {
  AddTiles(4000);
  EXPECT_GT(compared_, 30'000);
}

TEST_F(TensorInt16DenseTest, ScalesAndLimitsSumsBitForBit) {
  ScaleBlocks(200);
  EXPECT_GT(compared_, 30'000);
}

}  // namespace
}  // namespace tributary::fpga
