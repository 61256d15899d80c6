// What a recording of ranges needs to know of its hall: anchors, tags, and how its files are written. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace tributary::scene {

using Point3 = std::array<double, 3>;
using Rotation = std::array<Point3, 3>;  // rows

struct Survey {
  // A row of a recording holds anchors × tags ranges.
  static constexpr std::size_t kMaxAnchors = 64;
  static constexpr std::size_t kMaxTags = 16;

  enum class Order { kAnchors, kTags };  // what changes slowest in a row
  enum class Quaternion { kWxyz, kXyzw };

  std::vector<Point3> anchors_m;  // site frame
  std::vector<Point3> tags_m;     // the tags' body frame

  Order order = Order::kAnchors;
  double range_unit_m = 1.0;  // a range of 1 in the recording, in m
  double truth_unit_m = 1.0;  // the same for motion capture
  Quaternion quaternion = Quaternion::kWxyz;
  // From the tags' body frame to the body frame of motion capture.
  Rotation turn = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};

  // Where a row has the range of an anchor to a tag, from 0.
  std::size_t Column(std::size_t anchor, std::size_t tag) const {
    return order == Order::kAnchors ? anchor * tags_m.size() + tag : tag * anchors_m.size() + anchor;
  }
  std::size_t ranges() const { return anchors_m.size() * tags_m.size(); }
};

}  // namespace tributary::scene
