// Fused positions as GeoJSON (RFC 7946), for maps.
#pragma once

#include <string>

#include "core/estimate/tuple_frame.h"
#include "tributary/v1/site.pb.h"

namespace tributary::publish {

// A FeatureCollection with a Point for each subject of a slot that has two or three dimensions; its
// properties give the ellipse of one standard deviation in the plane. `origin`: the site's.
std::string SubjectsGeoJson(const std::string& site, const v1::GeographicOrigin& origin,
                            const estimate::FusedSlot& slot);

}  // namespace tributary::publish
