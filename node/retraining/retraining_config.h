// [panel.retraining]: where labelled ranges come from, and where the network is kept.
#pragma once

#include <string>

#include "core/config/config.h"

namespace tributary::retraining {

struct RetrainingConfig {
  std::string samples_file = {};  // that grows; empty: none
  bool http = false;              // POST /api/v1/panels/{panel}/samples
  std::string state_file = {};    // empty: a restart begins with the model again
};

RetrainingConfig ReadRetraining(const config::ConfigSection& section);

}  // namespace tributary::retraining
