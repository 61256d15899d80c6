#include "aggregator/publish/slot_truth.h"

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <variant>

namespace tributary::publish {
namespace {

constexpr float kUnknownPosition = std::numeric_limits<float>::quiet_NaN();
constexpr std::int32_t kUnknownClass = -1;

void AddPosition(const truth::TrueState& state, v1::SlotTruth& to) {
  const auto* const at = std::get_if<truth::PlanePosition>(&state);
  for (std::size_t i = 0; i < 2; ++i) {
    to.add_positions(at == nullptr ? kUnknownPosition : static_cast<float>((*at)[i]));
  }
}

void AddClass(const truth::TrueState& state, const google::protobuf::RepeatedPtrField<std::string>& classes,
              v1::SlotTruth& to) {
  const auto* const name = std::get_if<std::string_view>(&state);
  const auto found = name == nullptr ? classes.end() : std::ranges::find(classes, *name);
  to.add_classes(found == classes.end() ? kUnknownClass : static_cast<std::int32_t>(found - classes.begin()));
}

}  // namespace

void AddTruth(const truth::Truth& truth, estimate::SlotLength slot, v1::WatchResponse& response) {
  v1::SlotTruth& to = *response.mutable_truth();
  to.Clear();
  for (const std::uint32_t subject : response.slot().subjects()) {
    const truth::TrueState state = truth(subject, response.slot().epoch(), slot);
    if (response.classes().empty()) {
      AddPosition(state, to);
    } else {
      AddClass(state, response.classes(), to);
    }
  }
}

}  // namespace tributary::publish
