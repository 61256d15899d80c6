#include "node/retraining/renewed_beacon.h"

#include <utility>

#include "core/status/macros.h"

namespace tributary::retraining {
namespace {

class RenewedBeacon final : public workload::Workload {
 public:
  // `workload` owns the accelerator and reads `network`.
  RenewedBeacon(std::unique_ptr<workload::Workload> workload, accelerator::BeaconAccelerator& accelerator,
                std::shared_ptr<nn::BeaconNetwork> network, std::shared_ptr<BeaconInForce> in_force)
      : workload_(std::move(workload)),
        accelerator_(accelerator),
        network_(std::move(network)),
        in_force_(std::move(in_force)),
        written_(in_force_->content().network) {}

  absl::Status Run(const source::SensorFrame& samples, estimate::TupleFrame& tuples) override {
    const BeaconInForce::Content content = in_force_->content();
    if (content.network != written_) {
      RETURN_IF_ERROR(accelerator_.SetWeights(content.network->parameters));
      *network_ = *content.network;
      written_ = content.network;
    }
    RETURN_IF_ERROR(workload_->Run(samples, tuples));
    for (float& element : tuples.cholesky) element *= static_cast<float>(content.deviation_scale);
    return absl::OkStatus();
  }

  std::uint64_t unusable_tuples() const override { return workload_->unusable_tuples(); }
  accelerator::Accelerator::Counters accelerator_counters() const override {
    return workload_->accelerator_counters();
  }

 private:
  const std::unique_ptr<workload::Workload> workload_;
  accelerator::BeaconAccelerator& accelerator_;
  const std::shared_ptr<nn::BeaconNetwork> network_;
  const std::shared_ptr<BeaconInForce> in_force_;
  std::shared_ptr<const nn::BeaconNetwork> written_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<workload::Workload>> CreateRenewedBeacon(
    std::unique_ptr<accelerator::BeaconAccelerator> accelerator, std::shared_ptr<BeaconInForce> in_force) {
  const BeaconInForce::Content content = in_force->content();
  const auto network = std::make_shared<nn::BeaconNetwork>(*content.network);
  ASSIGN_OR_RETURN(network->parameters, accelerator->weights());
  in_force->Set(*network, content.deviation_scale);
  accelerator::BeaconAccelerator& weights = *accelerator;
  ASSIGN_OR_RETURN(std::unique_ptr<workload::Workload> workload,
                   workload::CreateBeacon(std::move(accelerator), network));
  return std::make_unique<RenewedBeacon>(std::move(workload), weights, network, std::move(in_force));
}

}  // namespace tributary::retraining
