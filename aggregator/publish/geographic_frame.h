// From a site's frame to places on Earth. Pure.
#pragma once

namespace tributary::publish {

// WGS 84, degrees.
struct GeographicPoint {
  double latitude_deg = 0;
  double longitude_deg = 0;  // -180 to 180
};

// The site's floor as the plane that touches the ellipsoid at the site's point (0, 0). Gives the place above
// which a point of that plane lies.
class GeographicFrame {
 public:
  // `heading_deg`: direction of the site's y axis, clockwise from true north.
  GeographicFrame(GeographicPoint origin, double heading_deg);

  GeographicPoint At(double x_m, double y_m) const;
  // The direction of the vector (x, y), clockwise from true north, from 0 to below 360 degrees.
  double BearingDeg(double x, double y) const;

 private:
  const GeographicPoint origin_;
  const double heading_rad_;
};

}  // namespace tributary::publish
