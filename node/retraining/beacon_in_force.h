// The beacon network that a panel has, handed from who trains it to who uses it.
#pragma once

#include <memory>
#include <utility>

#include "core/nn/beacon/beacon_network.h"
#include "core/runtime/mutex.h"

namespace tributary::retraining {

// Any thread may call.
class BeaconInForce {
 public:
  struct Content {
    std::shared_ptr<const nn::BeaconNetwork> network;
    double deviation_scale = 1;  // multiplies the factors of its covariances
  };

  explicit BeaconInForce(nn::BeaconNetwork network) { Set(std::move(network), 1); }

  void Set(nn::BeaconNetwork network, double deviation_scale) {
    auto shared = std::make_shared<const nn::BeaconNetwork>(std::move(network));
    const runtime::MutexLock lock(mutex_);
    content_ = {std::move(shared), deviation_scale};
  }
  void SetScale(double deviation_scale) {
    const runtime::MutexLock lock(mutex_);
    content_.deviation_scale = deviation_scale;
  }
  Content content() const {
    const runtime::MutexLock lock(mutex_);
    return content_;
  }

 private:
  mutable runtime::Mutex mutex_;
  Content content_ GUARDED_BY(mutex_);
};

}  // namespace tributary::retraining
