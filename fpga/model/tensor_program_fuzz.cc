// Any words as a program of the tensor unit: a byte for the number of lanes and the precisions, two for the
// buffers, then the words. What is decoded encodes to the same words; a run ends where the check says;
// weights that stay change no result.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "fpga/model/tensor_layout.h"
#include "fpga/model/tensor_program.h"
#include "fpga/model/tensor_timing.h"
#include "fpga/model/tensor_unit.h"

namespace tributary::fpga {
namespace {

using Words = std::vector<std::uint64_t>;

// Small memories: short programs already meet their ends.
TensorUnitSize SizeOf(std::uint8_t byte) {
  return {.lanes = 8u << byte % 3,
          .activations = 1 << 8,
          .pixels = 64,
          .line = 32,
          .kept = 1 << 9,
          .bfloat16 = (byte & 0x80) != 0,
          .int16 = (byte & 0x40) != 0,
          .int32 = (byte & 0x20) != 0,
          .float32 = (byte & 0x10) != 0};
}

// What the golden model computes is at most products of a matrix, or looks of a pool, in each of the unit's
// cycles.
constexpr std::uint64_t kMostCycles = 4'000;

struct Walk {
  std::uint64_t cycles = 0;
  bool keeps = false, uses_kept = false;
  std::size_t words = 0;  // up to END, if there is one
};

// As far as the commands are right.
Walk WalkOf(std::span<const std::uint64_t> program, const TensorUnitSize& size,
            const TensorBuffers& buffers) {
  Walk walk;
  TensorTiming timing(size);
  while (program.size() - walk.words >= kTensorCommandWords && timing.cycles() <= kMostCycles) {
    const auto words = program.subspan(walk.words).first<kTensorCommandWords>();
    const TensorCommand command = DecodeTensorCommand(words);
    if (!std::ranges::equal(EncodeTensorCommand(command), words)) std::abort();
    if (CheckTensorCommand(command, size, buffers) != TensorStatus::kOk) break;
    const std::uint64_t following = TensorFollowingWords(command, size);
    walk.words += kTensorCommandWords;
    if (program.size() - walk.words < following) break;
    walk.words += following;
    timing.Add(command);
    walk.keeps = walk.keeps || command.opcode == TensorOpcode::kKeep;
    walk.uses_kept = walk.uses_kept || (command.flags & kTensorKept) != 0;
    if (command.opcode == TensorOpcode::kEnd) break;
  }
  walk.cycles = timing.cycles();
  return walk;
}

// The check does not know the weights that stay, so a run may end earlier for one of these.
void ExpectAsChecked(const absl::Status& check, const TensorRun& run, bool uses_kept) {
  if (uses_kept && run.status == TensorStatus::kBadWeight) return;
  if (check.ok()) {
    if (run.status != TensorStatus::kOk) std::abort();
    return;
  }
  const std::string fault =
      fmt::format("command {}: status {} of the tensor unit", run.command, static_cast<int>(run.status));
  if (check.message() != fault) std::abort();
}

Words ResultOf(TensorUnit& unit, std::span<const std::uint64_t> program, std::span<const std::uint64_t> input,
               std::size_t output_words) {
  Words output(output_words);
  if (unit.Run(program, input, output).status != TensorStatus::kOk) std::abort();
  return output;
}

// Two runs of each: a program may read activations that the run before has left. `unit`: has run it once.
void ExpectSameWithKeptWeights(std::span<const std::uint64_t> program, TensorUnit& unit,
                               std::span<const std::uint64_t> input, const Words& first_result) {
  const KeptTensorProgram kept = KeepTensorWeights(program, unit.size());
  const TensorBuffers buffers{input.size(), first_result.size()};
  for (const Words* const part : {&kept.first, &kept.later}) {
    if (!CheckTensorProgram(*part, unit.size(), buffers).ok()) std::abort();
  }
  TensorUnit keeping(unit.size());
  if (ResultOf(keeping, kept.first, input, first_result.size()) != first_result) std::abort();
  const Words later = ResultOf(keeping, kept.later, input, first_result.size());
  if (later != ResultOf(unit, program, input, first_result.size())) std::abort();
}

}  // namespace
}  // namespace tributary::fpga

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace tributary::fpga;
  constexpr std::size_t kHead = 3;
  if (size < kHead) return 0;
  const TensorUnitSize unit_size = SizeOf(bytes[0]);
  Words program((size - kHead) / 8);
  if (!program.empty()) std::memcpy(program.data(), bytes + kHead, 8 * program.size());
  Words input(bytes[1]), output(bytes[2]);
  for (std::size_t i = 0; i < input.size(); ++i) input[i] = 0x9e3779b97f4a7c15 * (i + 1);
  const TensorBuffers buffers{input.size(), output.size()};
  const absl::Status check = CheckTensorProgram(program, unit_size, buffers);
  const Walk walk = WalkOf(program, unit_size, buffers);
  if (walk.cycles > kMostCycles) return 0;
  TensorUnit unit(unit_size);
  const TensorRun run = unit.Run(program, input, output);
  ExpectAsChecked(check, run, walk.uses_kept);
  if (TensorFaultText(run).empty()) std::abort();
  if (check.ok() && !walk.keeps && !walk.uses_kept) {
    ExpectSameWithKeptWeights(std::span(program).first(walk.words), unit, input, output);
  }
  return 0;
}
