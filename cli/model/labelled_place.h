// A classifier for the place where it will be used.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "core/parameters/tensor.h"

namespace tributary::cli {

// The classifier `model` as nodes with `head` "adjusted" or "personal" have it: expects each class as often
// as the idx file `labels` has it. A head that the model does not have is drawn, for the classes of these
// labels. `name`: says in errors which model it is. Errors: those of the file; InvalidArgument for a model
// that is no classifier, for labels that it does not tell apart, and for a model that does not say how to
// draw its head.
absl::StatusOr<parameters::TensorSet> FittedToLabels(const parameters::TensorSet& model,
                                                     const std::string& name, const std::string& labels);

}  // namespace tributary::cli
