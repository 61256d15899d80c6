// How a process declares itself when it starts to report, and how models are told apart.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/estimate/slot_length.h"

namespace tributary::wire {

// New at each start of a process: the aggregator tells a restart from a reconnect by it.
using BootId = std::array<std::uint8_t, 16>;
BootId NewBootId();

struct ModelIdentity {
  std::string name;
  std::string version;
  std::string sha256;  // 32 bytes, of the parameters; empty where no model is involved

  friend bool operator==(const ModelIdentity&, const ModelIdentity&) = default;
};

struct ReportingSource {
  std::string name;
  std::uint32_t dimension = 2;      // of its Gaussian tuples: 1, 2 or 3
  std::vector<std::string> leaves;  // that its tuples can contain; a leaf lists itself
};

// One reporting process in one site: the hello of a Report stream.
struct ReportingProcess {
  std::string site;
  std::string node;  // equals the certificate's name where TLS is on
  BootId boot_id = {};
  std::vector<ReportingSource> sources;  // addressed by index: TupleFrame::source
  ModelIdentity model;
  estimate::SlotLength slot;  // what its epochs count
};

}  // namespace tributary::wire
