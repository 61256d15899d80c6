// Receives estimated tuples.
#pragma once

#include "core/estimate/tuple_frame.h"

namespace tributary::link {

// Any thread may call.
class TupleSink {
 public:
  virtual ~TupleSink() = default;

  // Takes the frame; `frame` gets the memory of an old one, contents unspecified. Does not block.
  virtual void Offer(estimate::TupleFrame& frame) = 0;
};

}  // namespace tributary::link
