// Linear-feedback shift registers with XNOR feedback: the augmentation's random generators.
#pragma once

#include <cstdint>

namespace tributary::fpga {

// Shifts left; the new lowest bit is the XNOR of two taps (XAPP 052: 9,5 · 10,7 · 11,9). Every state except
// all ones occurs (period 2^bits - 1), and a register cleared at reset runs.
//
// An image takes one value of two bits and shifts twice, so that two images share no bit: with one shift the
// choice for an image would leave only two choices for the next. 2 and 2^bits - 1 have no common factor, so
// the period in images is 2^bits - 1, too.
class Lfsr {
 public:
  // A seed of all ones, in which the register would stay forever, counts as zero. Higher bits are ignored.
  constexpr Lfsr(int bits, int tap, std::uint32_t seed) : bits_(bits), tap_(tap), state_(seed & Mask()) {
    if (state_ == Mask()) state_ = 0;
  }

  constexpr std::uint32_t state() const { return state_; }
  constexpr std::uint32_t value() const { return state_ & 3U; }

  // Steps to the next image.
  constexpr void Advance() {
    Shift();
    Shift();
  }

  constexpr void Shift() {
    const std::uint32_t bit = ~((state_ >> (bits_ - 1)) ^ (state_ >> (tap_ - 1))) & 1U;
    state_ = ((state_ << 1) | bit) & Mask();
  }

 private:
  constexpr std::uint32_t Mask() const { return (std::uint32_t{1} << bits_) - 1; }

  int bits_;
  int tap_;
  std::uint32_t state_;
};

// [SSL], 5.2: blur by 9 bits, rotation by 11, crop by 10.
constexpr Lfsr BlurLfsr(std::uint32_t seed) { return Lfsr(9, 5, seed); }
constexpr Lfsr RotationLfsr(std::uint32_t seed) { return Lfsr(11, 9, seed); }
constexpr Lfsr CropLfsr(std::uint32_t seed) { return Lfsr(10, 7, seed); }

}  // namespace tributary::fpga
