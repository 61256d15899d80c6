// The parameters of a RangeGeometry from ranges with known positions: a robust linear fit with priors.
#pragma once

#include <span>

#include "core/nn/geometry/geometry_trainer.h"
#include "core/nn/geometry/range_geometry.h"

namespace tributary::nn {

// Fills all but variance_scale, the reach and the provenance. `examples` are not empty.
RangeGeometry FitGeometry(std::span<const GeometryExample* const> examples, const GeometrySurvey& survey,
                          const GeometryOptions& options);

}  // namespace tributary::nn
