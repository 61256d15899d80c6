#include "node/accelerator/tensor_storage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>

#include "core/status/macros.h"
#include "node/accelerator/tensor_support.h"

namespace tributary::accelerator {
namespace {

using graph::kAbsent;
using graph::LayerKind;
using graph::QuantisedLayer;
using graph::QuantisedSection;
using graph::QuantisedTensor;

std::size_t Index(int tensor) { return static_cast<std::size_t>(tensor); }

class TensorPlacement {
 public:
  TensorPlacement(const QuantisedSection& section, const TensorSchedule& schedule,
                  const fpga::TensorUnitSize& size)
      : section_(section), schedule_(schedule), size_(size) {}

  absl::StatusOr<std::vector<std::uint32_t>> Addresses() && {
    FindLives();
    ShareStorage();
    RETURN_IF_ERROR(PlaceStorage());
    std::vector<std::uint32_t> addresses;
    for (const int name : schedule_.names) addresses.push_back(storage_[owners_[Index(name)]].address);
    return addresses;
  }

 private:
  // When a tensor lives, in places of the schedule's work, and where. A tensor that takes the place of
  // another one shares its storage.
  struct Storage {
    std::size_t first = 0, last = 0;
    std::uint32_t vectors = 0, address = 0;
  };

  const QuantisedTensor& TensorAt(int tensor) const { return section_.tensors[Index(tensor)]; }
  std::size_t NameOf(int tensor) const { return Index(schedule_.NameOf(tensor)); }

  // What may lie where its input lay: the unit has read a place before it writes it.
  bool ReplacesInput(const TensorWork& work) const {
    const QuantisedLayer& layer = section_.layers[work.layer];
    const QuantisedTensor& input = TensorAt(work.input);
    const QuantisedTensor& output = TensorAt(work.output);
    if (input.height() != output.height() || input.width() != output.width() ||
        schedule_.NameOf(work.input) == schedule_.NameOf(work.residual))
      return false;
    if (layer.kind == LayerKind::kSum) return true;
    return IsDepthwise(layer, input) && layer.window.before[0] <= 1 && layer.window.before[1] <= 1;
  }

  void FindLives() {
    constexpr std::size_t kUnused = std::numeric_limits<std::size_t>::max();
    for (const QuantisedTensor& tensor : section_.tensors) {
      storage_.push_back({.first = kUnused, .vectors = VectorsOf(tensor, size_)});
    }
    for (std::size_t w = 0; w < schedule_.work.size(); ++w) {
      const TensorWork& work = schedule_.work[w];
      for (const int tensor : {work.input, work.residual, work.output}) {
        if (tensor == kAbsent) continue;
        Storage& storage = storage_[NameOf(tensor)];
        storage.first = std::min(storage.first, w);
        storage.last = w;
      }
    }
    // An input that is only moved lives all the time; a result that is part of another command, never.
    for (Storage& storage : storage_) {
      if (storage.first == kUnused) storage = {.vectors = 0};
    }
    for (const int tensor : section_.outputs) {
      Storage& storage = storage_[NameOf(tensor)];
      if (storage.vectors != 0) continue;
      storage = {.first = 0, .last = schedule_.work.size(), .vectors = VectorsOf(TensorAt(tensor), size_)};
    }
  }

  void ShareStorage() {
    for (const int name : schedule_.names) owners_.push_back(Index(name));
    for (std::size_t w = 0; w < schedule_.work.size(); ++w) {
      const TensorWork& work = schedule_.work[w];
      const std::size_t input = owners_[NameOf(work.input)], output = NameOf(work.output);
      if (storage_[NameOf(work.input)].last != w || !ReplacesInput(work)) continue;
      owners_[output] = input;
      storage_[input].last = std::max(storage_[input].last, storage_[output].last);
    }
  }

  // The largest first, each as low as those that live at its time allow.
  absl::Status PlaceStorage() {
    std::vector<std::size_t> order, placed;
    for (std::size_t t = 0; t < storage_.size(); ++t) {
      if (owners_[t] == t) order.push_back(t);
    }
    std::ranges::stable_sort(order, std::greater(), [&](std::size_t t) { return storage_[t].vectors; });
    for (const std::size_t t : order) {
      Storage& storage = storage_[t];
      std::uint64_t address = 0;
      for (const std::size_t other : placed) {  // by address
        const Storage& there = storage_[other];
        if (there.last < storage.first || storage.last < there.first) continue;
        if (address + storage.vectors <= there.address) break;
        address = std::max<std::uint64_t>(address, std::uint64_t{there.address} + there.vectors);
      }
      if (address + storage.vectors > size_.activations) {
        return absl::ResourceExhaustedError(
            fmt::format("the tensors that live with \"{}\" take {} vectors; the activation memory has {}",
                        section_.tensors[t].name, address + storage.vectors, size_.activations));
      }
      storage.address = static_cast<std::uint32_t>(address);
      placed.insert(std::ranges::upper_bound(placed, storage.address, {},
                                             [&](std::size_t other) { return storage_[other].address; }),
                    t);
    }
    return absl::OkStatus();
  }

  const QuantisedSection& section_;
  const TensorSchedule& schedule_;
  const fpga::TensorUnitSize size_;
  std::vector<Storage> storage_;     // by name
  std::vector<std::size_t> owners_;  // of each name: the one whose storage it has
};

}  // namespace

absl::StatusOr<std::vector<std::uint32_t>> PlaceTensors(const QuantisedSection& section,
                                                        const TensorSchedule& schedule,
                                                        const fpga::TensorUnitSize& size) {
  return TensorPlacement(section, schedule, size).Addresses();
}

}  // namespace tributary::accelerator
