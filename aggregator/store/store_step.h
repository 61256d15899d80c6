// The moments at which a power cut or a full disk can hit the store.
#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/status.h"

namespace tributary::store {

enum class StoreStep : std::uint8_t {
  kCreateFile,
  kWriteFile,
  kSyncFile,
  kRenameFile,
  kSyncFolder,
  kBegin,
  kChangeRow,
  kCommit,
  kRemoveFile,
};

// Asked before each step; an error is taken as if the step had failed so. Tests end the process in it. Empty:
// nothing is asked.
using StoreStepHook = std::function<absl::Status(StoreStep)>;

inline absl::Status AskHook(const StoreStepHook& hook, StoreStep step) {
  return hook ? hook(step) : absl::OkStatus();
}

}  // namespace tributary::store
