// The ten modulations that a radio panel tells apart, in the order of [MOD].
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tributary::radio {

enum class Modulation : std::uint8_t {
  kBpsk,
  k8Psk,
  kCpfsk,
  kGfsk,
  kPam4,
  kQam16,
  kQam64,
  kQpsk,
  kAmSsb,
  kWbfm,
};

inline constexpr std::array<std::string_view, 10> kModulations = {
    "BPSK", "8PSK", "CPFSK", "GFSK", "PAM4", "QAM16", "QAM64", "QPSK", "AM-SSB", "WBFM"};

constexpr std::string_view ModulationName(Modulation modulation) {
  return kModulations[static_cast<std::size_t>(modulation)];
}

}  // namespace tributary::radio
