// Numbers of bfloat16 and float32 that find the ends of their arithmetic: ordinary ones, close exponents that
// cancel, a wide spread, zeros, subnormal numbers, infinities and NaN.
#pragma once

#include <cstdint>
#include <random>

namespace tributary::fpga {

class RandomFloats {
 public:
  enum class Kind { kOrdinary, kClose, kIntegers, kWide, kLarge, kSmall, kAnything };

  static constexpr int kKinds = 7;

  explicit RandomFloats(Kind kind = Kind::kOrdinary) : kind_(kind) {}

  // Draws another kind; ordinary ones are the most frequent.
  void Choose(std::mt19937_64& random) {
    const auto drawn = random() % 12;
    kind_ = drawn < kKinds ? static_cast<Kind>(drawn) : Kind::kOrdinary;
  }

  std::uint16_t NextBfloat16(std::mt19937_64& random) const {
    const auto bits = static_cast<std::uint16_t>(random());
    if (random() % 16 == 0) return bits & 0x8000;
    switch (kind_) {
      case Kind::kOrdinary:
        return WithExponent(bits, 127 - random() % 12);
      case Kind::kClose:
        return WithExponent(bits & 0x8003, 127 - random() % 2);
      case Kind::kIntegers:  // of few bits: many sums are ties or zero
        return WithExponent(bits & 0x8070, 127 + random() % 4);
      case Kind::kWide:
        return WithExponent(bits, 127 - 20 + random() % 40);
      case Kind::kLarge:
        return WithExponent(bits, 127 + 50 + random() % 20);
      case Kind::kSmall:
        return WithExponent(bits, 127 - 66 + random() % 8);  // products about the least result
      case Kind::kAnything:
        return random() % 4 != 0 ? WithExponent(bits, 1 + random() % 254) : bits;
    }
    return bits;
  }

  // With more bits of the mantissa, except for integers and in one of four others.
  std::uint32_t NextFloat32(std::mt19937_64& random) const {
    const std::uint32_t upper = NextBfloat16(random), lower = random() & 0xffff;
    return upper << 16 | (kind_ == Kind::kIntegers || random() % 4 == 0 ? 0 : lower);
  }

 private:
  static std::uint16_t WithExponent(std::uint16_t bits, std::uint64_t exponent) {
    return static_cast<std::uint16_t>((bits & 0x807f) | exponent << 7);
  }
  Kind kind_;
};

}  // namespace tributary::fpga
