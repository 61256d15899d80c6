// The beacon network on the processor: 62 multiplications, without vector units.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/nn/beacon/beacon_network.h"
#include "fpga/model/beacon_model.h"
#include "fpga/model/number_format.h"
#include "node/accelerator/accelerator.h"

namespace tributary::accelerator {

// Features: three ranges in m; outputs: x and y in m, in the site's frame. NaN for a subject whose ranges are
// not finite.
class CpuBeacon final : public Accelerator {
 public:
  // kInt16 is the board's arithmetic (BeaconModel); kFloat the network as trained. Errors: InvalidArgument
  // for another format or max_batch 0.
  static absl::StatusOr<std::unique_ptr<CpuBeacon>> Create(const nn::BeaconNetwork& network,
                                                           fpga::NumberFormat format, std::size_t max_batch);

  Shape shape() const override;
  std::string description() const override;
  absl::Status Infer(std::span<const float> features, std::size_t batch, std::span<float> outputs) override;

 private:
  CpuBeacon(const nn::BeaconNetwork& network, fpga::NumberFormat format, std::size_t max_batch);

  nn::BeaconNetwork network_;
  fpga::BeaconModel model_;
  fpga::NumberFormat format_;
  std::size_t max_batch_;
};

}  // namespace tributary::accelerator
