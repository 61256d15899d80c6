#include "aggregator/learning/round/turnout.h"

namespace tributary::learning {

Turnout::Place Turnout::PlaceOf(std::string_view node) const {
  const auto found = places_.find(node);
  return found == places_.end() ? Place{} : found->second;
}

void Turnout::Finish(std::string_view node) {
  const auto found = places_.find(node);
  if (found == places_.end() || found->second.done) return;
  waiting_ -= found->second.waiting();
  found->second.done = true;
  ++done_;
}

void Turnout::GiveUp(std::string_view node) {
  const auto found = places_.find(node);
  if (found == places_.end()) return;
  waiting_ -= found->second.waiting();
  found->second.given_up = true;
}

std::vector<std::string> Turnout::AskedNodes() const {
  std::vector<std::string> nodes;
  nodes.reserve(places_.size());
  for (const auto& [node, place] : places_) nodes.push_back(node);
  return nodes;
}

std::vector<std::string> Turnout::DoneNodes() const {
  std::vector<std::string> nodes;
  nodes.reserve(done_);
  for (const auto& [node, place] : places_) {
    if (place.done) nodes.push_back(node);
  }
  return nodes;
}

}  // namespace tributary::learning
