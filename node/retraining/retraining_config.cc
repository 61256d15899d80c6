#include "node/retraining/retraining_config.h"

namespace tributary::retraining {

RetrainingConfig ReadRetraining(const config::ConfigSection& section) {
  RetrainingConfig config;
  section.ReadFile("samples", config.samples_file,
                   "file to which labelled ranges are appended: lines of unix_ns,range,range,range,x,y in m; "
                   "empty: none");
  section.Read("http", config.http,
               "true: programs of this machine send such lines to /api/v1/panels/NAME/samples");
  section.ReadFile("state", config.state_file,
                   "file that keeps the trained network over a restart; empty: it begins with the model");
  if (config.samples_file.empty() && !config.http) {
    section.Fault("", "needs samples = \"FILE\" or http = true: nothing else gives it samples");
  }
  return config;
}

}  // namespace tributary::retraining
