#include "aggregator/publish/geojson.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "aggregator/publish/geographic_frame.h"
#include "core/wire/json.h"

namespace tributary::publish {
namespace {

using Json = nlohmann::ordered_json;

// The ellipse of one standard deviation in x and y, from the first two rows of the factor.
Json EllipseJson(const float* factor, const GeographicFrame& frame) {
  const double l11 = factor[0], l21 = factor[1], l22 = factor[2];
  const double xx = l11 * l11, xy = l11 * l21, yy = l21 * l21 + l22 * l22;
  const double mean = (xx + yy) / 2;
  const double spread = std::hypot((xx - yy) / 2, xy);
  const double angle = std::atan2(2 * xy, xx - yy) / 2;  // of the major axis, from x
  // An axis has two directions: the one in the eastern half.
  const double bearing_deg = std::fmod(frame.BearingDeg(std::cos(angle), std::sin(angle)), 180);
  return {{"major_m", std::sqrt(mean + spread)},
          {"minor_m", std::sqrt(std::max(mean - spread, 0.0))},
          {"major_bearing_deg", bearing_deg}};
}

}  // namespace

std::string SubjectsGeoJson(const std::string& site, const v1::GeographicOrigin& origin,
                            const estimate::FusedSlot& slot) {
  const GeographicFrame frame({origin.latitude_deg(), origin.longitude_deg()}, origin.heading_deg());
  const std::size_t d = slot.dimension;
  Json features = Json::array();
  for (std::size_t i = 0; i < slot.subjects.size() && d >= 2; ++i) {
    const GeographicPoint at = frame.At(slot.means[i * d], slot.means[i * d + 1]);
    features.push_back(
        {{"type", "Feature"},
         {"id", slot.subjects[i]},
         {"geometry", {{"type", "Point"}, {"coordinates", Json::array({at.longitude_deg, at.latitude_deg})}}},
         {"properties",
          {{"subject", slot.subjects[i]},
           {"standard_deviation", EllipseJson(&slot.cholesky[i * estimate::TriangleSize(d)], frame)}}}});
  }
  return wire::DumpJson({{"type", "FeatureCollection"},
                         {"site", site},
                         {"epoch", std::to_string(slot.epoch)},
                         {"captured_unix_ns", std::to_string(slot.captured_unix_ns)},
                         {"features", std::move(features)}});
}

}  // namespace tributary::publish
