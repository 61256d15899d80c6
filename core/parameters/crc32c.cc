#include "core/parameters/crc32c.h"

#include <array>
#include <cstddef>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace tributary::parameters {
namespace {

using Table = std::array<std::uint32_t, 256>;

constexpr Table MakeByteTable() {
  constexpr std::uint32_t kPolynomial = 0x82f63b78;  // reflected
  Table table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    table[byte] = crc;
  }
  return table;
}
constexpr Table kBytes = MakeByteTable();

// For processors without an instruction of their own.
std::uint32_t Extend(std::uint32_t crc, std::string_view bytes) {
  for (const char c : bytes) crc = (crc >> 8) ^ kBytes[(crc ^ static_cast<unsigned char>(c)) & 0xff];
  return crc;
}

[[maybe_unused]] std::uint64_t Load(const char* bytes) {
  std::uint64_t word;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

#if defined(__x86_64__)

bool HasInstruction() { return __builtin_cpu_supports("sse4.2"); }

// Three streams hide the latency of the instruction; each this long.
constexpr std::size_t kStream = 1024;

// Entry [k][b]: what byte k of a CRC becomes when kStream zero bytes follow.
constexpr std::array<Table, 4> MakeShiftTables() {
  std::array<Table, 4> tables{};
  std::array<std::uint32_t, 32> shifted{};  // of each single bit; the shift is linear
  for (std::size_t bit = 0; bit < 32; ++bit) {
    std::uint32_t crc = std::uint32_t{1} << bit;
    for (std::size_t i = 0; i < kStream; ++i) crc = (crc >> 8) ^ kBytes[crc & 0xff];
    shifted[bit] = crc;
  }
  for (std::size_t k = 0; k < 4; ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      for (std::size_t bit = 0; bit < 8; ++bit) {
        if ((byte >> bit & 1) != 0) tables[k][byte] ^= shifted[8 * k + bit];
      }
    }
  }
  return tables;
}
constexpr std::array<Table, 4> kShift = MakeShiftTables();

std::uint32_t ShiftByStream(std::uint32_t crc) {
  return kShift[0][crc & 0xff] ^ kShift[1][crc >> 8 & 0xff] ^ kShift[2][crc >> 16 & 0xff] ^
         kShift[3][crc >> 24];
}

__attribute__((target("sse4.2"))) std::uint32_t ExtendByInstruction(std::uint32_t crc, const char* bytes,
                                                                    std::size_t n) {
  for (; n >= 3 * kStream; n -= 3 * kStream, bytes += 3 * kStream) {
    std::uint64_t a = crc, b = 0, c = 0;
    for (std::size_t i = 0; i < kStream; i += 8) {
      a = _mm_crc32_u64(a, Load(bytes + i));
      b = _mm_crc32_u64(b, Load(bytes + kStream + i));
      c = _mm_crc32_u64(c, Load(bytes + 2 * kStream + i));
    }
    crc = ShiftByStream(ShiftByStream(static_cast<std::uint32_t>(a)) ^ static_cast<std::uint32_t>(b)) ^
          static_cast<std::uint32_t>(c);
  }
  for (; n >= 8; n -= 8, bytes += 8) crc = static_cast<std::uint32_t>(_mm_crc32_u64(crc, Load(bytes)));
  for (; n > 0; --n, ++bytes) crc = _mm_crc32_u8(crc, static_cast<unsigned char>(*bytes));
  return crc;
}

#elif defined(__aarch64__)

bool HasInstruction() { return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0; }

__attribute__((target("+crc"))) std::uint32_t ExtendByInstruction(std::uint32_t crc, const char* bytes,
                                                                  std::size_t n) {
  for (; n >= 8; n -= 8, bytes += 8) crc = __crc32cd(crc, Load(bytes));
  for (; n > 0; --n, ++bytes) crc = __crc32cb(crc, static_cast<unsigned char>(*bytes));
  return crc;
}

#else

bool HasInstruction() { return false; }

std::uint32_t ExtendByInstruction(std::uint32_t crc, const char*, std::size_t) { return crc; }

#endif

}  // namespace

std::uint32_t Crc32c(std::string_view bytes, std::uint32_t crc) {
  static const bool has_instruction = HasInstruction();
  if (has_instruction) return ~ExtendByInstruction(~crc, bytes.data(), bytes.size());
  return ~Extend(~crc, bytes);
}

}  // namespace tributary::parameters
