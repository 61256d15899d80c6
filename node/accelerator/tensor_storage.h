// Where the tensors of a section lie in the tensor unit's activation memory.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "core/graph/quantised/quantised_layer.h"
#include "fpga/model/tensor_program.h"
#include "node/accelerator/tensor_schedule.h"

namespace tributary::accelerator {

// The address of each tensor. Tensors that live at different times may share a place. Errors:
// ResourceExhausted, naming a tensor, if those that live at one time do not fit.
absl::StatusOr<std::vector<std::uint32_t>> PlaceTensors(const graph::QuantisedSection& section,
                                                        const TensorSchedule& schedule,
                                                        const fpga::TensorUnitSize& size);

}  // namespace tributary::accelerator
