// Who is asked in one step of a round, and which of them the step still waits for.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::learning {

// An operation on one node costs O(log n), the counts cost nothing. One thread at a time.
class Turnout {
 public:
  void Add(std::string_view node) { waiting_ += places_.try_emplace(std::string(node)).second; }

  bool Asked(std::string_view node) const { return places_.contains(node); }
  bool Done(std::string_view node) const { return PlaceOf(node).done; }
  bool HasGivenUp(std::string_view node) const { return PlaceOf(node).given_up; }

  // Both ignore a node that is not asked. A node that has given up may still finish.
  void Finish(std::string_view node);
  void GiveUp(std::string_view node);

  std::size_t asked() const { return places_.size(); }
  std::size_t done() const { return done_; }
  std::size_t waiting() const { return waiting_; }  // neither done nor given up
  // O(n). Ascending.
  std::vector<std::string> AskedNodes() const;
  std::vector<std::string> DoneNodes() const;

 private:
  struct Place {
    bool done = false;
    bool given_up = false;

    bool waiting() const { return !done && !given_up; }
  };
  Place PlaceOf(std::string_view node) const;

  std::map<std::string, Place, std::less<>> places_;
  std::size_t done_ = 0;
  std::size_t waiting_ = 0;
};

}  // namespace tributary::learning
