// Return errors early, in one line each.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Returns the error of an expression of type absl::Status.
#define RETURN_IF_ERROR(expression)                                         \
  do {                                                                      \
    if (absl::Status status_ = (expression); !status_.ok()) return status_; \
  } while (false)

// Initialises `declaration` with the value of an absl::StatusOr, or returns its error. A type with a comma
// needs an alias or auto.
#define ASSIGN_OR_RETURN(declaration, expression) \
  ASSIGN_OR_RETURN_AT_(TRIBUTARY_JOIN_(result_, __LINE__), declaration, expression)
// NOLINTBEGIN(bugprone-macro-parentheses): a name and a declaration cannot stand in parentheses.
#define ASSIGN_OR_RETURN_AT_(result, declaration, expression) \
  auto result = (expression);                                 \
  if (!result.ok()) return std::move(result).status();        \
  declaration = *std::move(result)
// NOLINTEND(bugprone-macro-parentheses)
#define TRIBUTARY_JOIN_(first, second) TRIBUTARY_JOIN_NOW_(first, second)
#define TRIBUTARY_JOIN_NOW_(first, second) first##second
