// Contents of the RTL's read-only memories, made from the golden models' tables, so that there is one
// definition.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tributary::fpga {

// One memory: words of `bits` bits from address 0, for $readmemh.
struct Rom {
  std::string name;  // the file is name.hex
  int bits = 0;
  std::vector<std::uint32_t> words;
};

// {variant, row, column} of 2, 5, 5 bits → {row, column} of the source; row 31 where the output is 0.
Rom RotationRom();
// {variant, output position} of 2, 5 bits → input position, on either axis.
Rom CropRom();
// Nine coefficients, two's complement.
Rom BlurRom();
// The half of the golden model's tansig table for x ≥ 0: tanh is odd. The full table's lowest word is minus
// this one's last.
Rom TansigRom();

// One hexadecimal word per line.
std::string ToHex(const Rom& rom);

}  // namespace tributary::fpga
