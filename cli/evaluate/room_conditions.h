// The conditions under which positioning is judged: one thing at a time differs from the ideal room. Pure.
#pragma once

#include <span>
#include <string_view>

#include "core/scene/room_examples.h"

namespace tributary::cli {

struct NamedConditions {
  std::string_view name;  // a key of the JSON output
  std::string_view text;
  scene::RoomConditions conditions;
};

// The ideal room first, the drawn worlds of the training last.
std::span<const NamedConditions> JudgedConditions();

}  // namespace tributary::cli
