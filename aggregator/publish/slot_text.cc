#include "aggregator/publish/slot_text.h"

namespace tributary::publish {

const std::string& SlotText::Get(const Site& site, bool truth, Place place,
                                 const std::function<std::string()>& print) {
  Last& last = last_[{&site, truth}];
  if (last.place == place && !last.text.empty()) return last.text;
  last = {place, print()};
  ++printed_;
  return last.text;
}

}  // namespace tributary::publish
