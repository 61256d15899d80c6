// Creates a node's accelerators: as its configuration says, or on the processor, or on a board.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/graph/graph_model.h"
#include "core/nn/beacon/beacon_network.h"
#include "core/nn/geometry/range_geometry.h"
#include "core/nn/modulation/modulation_network.h"
#include "core/nn/positioning/positioning_network.h"
#include "fpga/model/number_format.h"
#include "node/accelerator/accelerator.h"
#include "node/accelerator/beacon_accelerator.h"
#include "node/accelerator/encoder_board.h"
#include "node/accelerator/float_layers.h"

namespace tributary::accelerator {

// How a panel, or training, uses a board: the keys beside accelerator = "xrt".
struct XrtOptions {
  std::string xclbin;              // file with the kernel
  std::string xclbin_uuid;         // if not empty: the UUID that the file must have
  unsigned device = 0;             // index of the board
  std::size_t compute_units = 1;   // at least 1, to be used in turn; each belongs to one panel
  std::size_t frames_per_run = 8;  // at least 1; subjects per start of a kernel: a batch is cut into such
                                   // runs, which overlap
  bool fall_back_to_cpu = false;   // on a failing board
  FloatLayers float_layers = FloatLayers::kProcessor;  // of a graph
  std::chrono::milliseconds run_timeout{2000};
  std::chrono::milliseconds load_timeout{10000};  // of the run that loads the parameters: 35,000 words
  std::chrono::milliseconds abort_timeout{2000};  // for a driver to end an aborted run
  // The wait after a failure before the board is opened again. It doubles up to a hundred times this until a
  // batch is computed.
  std::chrono::milliseconds reopen_interval{100};
};

struct AcceleratorConfig {
  fpga::NumberFormat format = fpga::NumberFormat::kInt8Int16;
  std::size_t max_batch = 64;                    // subjects per slot
  std::optional<XrtOptions> xrt = std::nullopt;  // empty: the processor
};

using CreatedBeacon = absl::StatusOr<std::unique_ptr<BeaconAccelerator>>;
using Created = absl::StatusOr<std::unique_ptr<Accelerator>>;

// Errors: InvalidArgument for a network that does not fit the format, those of CheckAccelerator, and those of
// the board.
Created CreateAccelerator(const AcceleratorConfig& config, const nn::PositioningNetwork& network);
CreatedBeacon CreateAccelerator(const AcceleratorConfig& config, const nn::BeaconNetwork& network);
Created CreateAccelerator(const AcceleratorConfig& config, const nn::RangeGeometry& geometry);
Created CreateAccelerator(const AcceleratorConfig& config, const nn::ModulationNetwork& network);
Created CreateAccelerator(const AcceleratorConfig& config, const graph::GraphModel& model);

// Fuses the tuples of a board's panels (FusionAccelerator); the block's own format. Errors: InvalidArgument
// for a number of panels that the block does not support.
Created CreateFusion(const AcceleratorConfig& config, std::size_t panels);

// Checks that are made before a board is opened. Errors: InvalidArgument, FailedPrecondition, NotFound or
// PermissionDenied, "KEY: what is wrong" with the key of [[panel]] at fault.
absl::Status CheckAccelerator(const AcceleratorConfig& config, const nn::PositioningNetwork& network);
absl::Status CheckAccelerator(const AcceleratorConfig& config, const nn::BeaconNetwork& network);
absl::Status CheckAccelerator(const AcceleratorConfig& config, const nn::RangeGeometry& geometry);
absl::Status CheckAccelerator(const AcceleratorConfig& config, const nn::ModulationNetwork& network);
absl::Status CheckAccelerator(const AcceleratorConfig& config, const graph::GraphModel& model);
absl::Status CheckFusion(const AcceleratorConfig& config);
absl::Status CheckEncoderBoard(const XrtOptions& options);

// The positioning network on the processor's vector units. Same outputs as fpga::InferPositioning, bit for
// bit, in the fixed-point formats. Chooses the instruction set. Owns all its buffers: Infer allocates
// nothing, except for kInt32, which runs that scalar model and serves evaluation only. Errors: those of
// MakeFixedPositioning.
Created CreateCpuPositioning(const nn::PositioningNetwork& network, fpga::NumberFormat format,
                             std::size_t max_batch);

// The beacon network: 62 multiplications, without vector units. kInt16 is the board's arithmetic
// (BeaconModel); kFloat the network as trained. Errors: InvalidArgument for another format.
CreatedBeacon CreateCpuBeacon(const nn::BeaconNetwork& network, fpga::NumberFormat format,
                              std::size_t max_batch);

// A board's geometry, in double precision whatever the format. Features: RangeGeometry's inputs; outputs: x,
// y and the Cholesky factor l11, l21, l22 in m, in the site's frame; NaN where the ranges leave the position
// open.
inline constexpr std::size_t kGeometryOutputs = 5;
Created CreateCpuGeometry(const nn::RangeGeometry& geometry, std::size_t max_batch);

// A modulation network: bursts of unit power [256] to logits [10], NaN for a burst that is not finite. kFloat
// is the network as trained; kInt8 gives the block's numbers (fpga::InferInt8), bit for bit, on the
// processor's vector units. Errors: InvalidArgument for another format; those of fpga::MakeInt8Modulation.
Created CreateCpuModulation(const nn::ModulationNetwork& network, fpga::NumberFormat format,
                            std::size_t max_batch);

// An ONNX graph on the processor, whatever the format: the features of a subject to its outputs; those of
// OutputKind::kProbabilities as logarithms. uint8 inputs are rounded and clipped. Errors: those of
// graph::OpenSession.
Created CreateCpuGraph(const graph::GraphModel& model, std::size_t max_batch);

// Fusion by the block's golden model. Errors: as FusionAccelerator::Check.
Created CreateCpuFusion(std::size_t panels, std::size_t max_batch);

// Kernels in the xclbin.
inline constexpr std::string_view kXrtPositioningKernel = "positioning_kernel";
inline constexpr std::string_view kXrtFusionKernel = "fusion_kernel";
inline constexpr std::string_view kXrtBeaconKernel = "beacon_kernel";
inline constexpr std::string_view kXrtTensorKernel = "tensor_kernel";
inline constexpr std::string_view kXrtTensorBfloatKernel = "tensor_kernel_bfloat";  // int8, too
// The kernels that a graph may take, in the order in which they are taken: any with int8, or the one that has
// the precision of its layers in floats.
std::vector<std::string_view> GraphTensorKernels(FloatLayers floats);
// Those for training.
inline constexpr std::array kTrainingTensorKernels = {kXrtTensorBfloatKernel, kXrtTensorKernel};
inline constexpr std::string_view kXrtViewsKernel = "augment_convolve_kernel";
// Modulations: fpga::kModulationKernels.

// Checks before a board is opened that the xclbin has one of the kernels; with fall_back_to_cpu, only those
// of faults that the processor does not take over. Errors: "KEY: what is wrong" with the key at fault;
// Unimplemented in a build without XRT.
absl::Status CheckXrt(const std::vector<std::string_view>& kernels, const XrtOptions& options);

// The UUID of the options' xclbin; empty if that cannot be read, and in a build without XRT.
std::string XclbinUuid(const XrtOptions& options);

// Positioning on a board, with the processor as fallback if the options allow that. Same outputs as
// fpga::InferPositioning in int8_16, bit for bit. Errors: InvalidArgument for a network that does not fit;
// those of XrtFrames::Create unless the processor takes over; Unimplemented in a build without XRT. Infer:
// those of XrtFrames::Run.
Created CreateXrtPositioning(const nn::PositioningNetwork& network, std::size_t max_batch,
                             const XrtOptions& options);

// The same for modulation networks, in kInt8.
Created CreateXrtModulation(const nn::ModulationNetwork& network, std::size_t max_batch,
                            const XrtOptions& options);

// The same for the beacon network, in kInt16.
CreatedBeacon CreateXrtBeacon(const nn::BeaconNetwork& network, std::size_t max_batch,
                              const XrtOptions& options);

// The same for the fusion of a board's panels (FusionAccelerator).
Created CreateXrtFusion(std::size_t panels, std::size_t max_batch, const XrtOptions& options);

// A graph whose quantised layers, and with XrtOptions::float_layers others, the board's tensor unit computes;
// the processor computes the rest. With
// fallback the processor computes all of it: each result of a layer is within one step of the unit's. Errors:
// FailedPrecondition for a graph without a layer for the unit, which the processor computes with fallback;
// those of XrtUnits::Open and Add. Infer: those of XrtUnits::Run.
Created CreateXrtGraph(const graph::GraphModel& model, std::size_t max_batch, const XrtOptions& options);

// The tensor unit of a board for sections of any number of graphs, of one thread. Errors: those of
// XrtUnits::Open; Unimplemented in a build without XRT.
absl::StatusOr<std::unique_ptr<graph::SectionTarget>> OpenXrtTensorUnit(const XrtOptions& options);

// What the board computes while this node trains an encoder: of views and tensor unit those whose kernel the
// xclbin has. Errors: NotFound if it has neither; those of XrtUnits::Open; Unimplemented in a build without
// XRT.
absl::StatusOr<EncoderBoard> OpenXrtEncoderBoard(const XrtOptions& options);

}  // namespace tributary::accelerator
