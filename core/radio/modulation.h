// The ten modulations that a radio panel tells apart, in the order of [MOD].
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
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

// None for a name that is not in kModulations.
constexpr std::optional<Modulation> ParseModulation(std::string_view name) {
  for (std::size_t i = 0; i < kModulations.size(); ++i) {
    if (kModulations[i] == name) return static_cast<Modulation>(i);
  }
  return std::nullopt;
}

}  // namespace tributary::radio
