// A slot's number: how many of a site's slots have passed since the Unix epoch (slot_length.h).
#pragma once

#include <cstdint>

namespace tributary::estimate {

using Epoch = std::uint64_t;

}  // namespace tributary::estimate
