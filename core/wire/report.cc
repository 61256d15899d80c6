#include "core/wire/report.h"

#include <cstring>
#include <random>

namespace tributary::wire {

BootId NewBootId() {
  std::random_device random;  // the kernel's generator
  BootId id;
  for (std::size_t i = 0; i < id.size(); i += sizeof(std::uint32_t)) {
    const std::uint32_t word = random();
    std::memcpy(id.data() + i, &word, sizeof word);
  }
  return id;
}

}  // namespace tributary::wire
