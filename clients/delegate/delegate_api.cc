// The C interface: checks pointers and sizes, and lets nothing of C++ through.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

#include "absl/status/status.h"
#include "clients/delegate/last_error.h"
#include "clients/delegate/opened_delegate.h"
#include "clients/delegate/tributary_delegate.h"
#include "core/runtime/file.h"
#include "core/status/context.h"
#include "core/status/macros.h"

struct tributary_delegate {
  std::unique_ptr<tributary::delegate::OpenedDelegate> opened;
};

namespace tributary::delegate {
namespace {

// Larger than any struct will be: what is above was not set by the caller.
constexpr std::size_t kMostStructBytes = 4096;
constexpr std::size_t kMostModelBytes = std::size_t{1} << 31;

// The result of `act`, an absl::Status, for C.
template <class Act>
tributary_delegate_status Guarded(const Act& act) noexcept {
  try {
    return Answer(act());
  } catch (const std::bad_alloc&) {
    SetLastError("there is not enough memory");
    return TRIBUTARY_DELEGATE_EXHAUSTED;
  } catch (const std::exception& fault) {
    SetLastError(fault.what());
  } catch (...) {
    SetLastError("an unknown exception");
  }
  return TRIBUTARY_DELEGATE_INTERNAL;
}

absl::Status IsNull(const char* argument) {
  return absl::InvalidArgumentError(std::string(argument) + " is NULL");
}

// ReadFile reads what stands in /dev for a command that is told to. A library is not told: a terminal would
// stop its caller.
absl::StatusOr<std::string> ReadModelFile(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::file_status found = std::filesystem::status(path, ignored);
  if (std::filesystem::is_other(found)) {
    return absl::FailedPreconditionError(path + ": is a pipe or a device, expected a file");
  }
  return runtime::ReadFile(path, kMostModelBytes);
}

template <class Struct>
absl::Status CheckStructSize(const char* argument, const Struct* given) {
  static_assert(std::is_trivially_copyable_v<Struct>);
  if (given == nullptr) return IsNull(argument);
  // Every version has had all fields so far.
  if (given->struct_size < sizeof(Struct) || given->struct_size > kMostStructBytes) {
    return absl::InvalidArgumentError(std::string(argument) + ": struct_size is " +
                                      std::to_string(given->struct_size) + ", not its sizeof");
  }
  return absl::OkStatus();
}

absl::StatusOr<tributary_delegate_options> OptionsOf(const tributary_delegate_options* given) {
  tributary_delegate_options options = {};
  if (given == nullptr) return options;
  RETURN_IF_ERROR(CheckStructSize("options", given));
  const std::span<const std::byte> newer(reinterpret_cast<const std::byte*>(given + 1),
                                         given->struct_size - sizeof(options));
  if (std::ranges::any_of(newer, [](std::byte byte) { return byte != std::byte{0}; })) {
    return absl::InvalidArgumentError("options: this library is older than the options that are set");
  }
  options = *given;
  return options;
}

// A result for the caller, who may be newer than this library.
template <class Struct>
absl::Status Give(const char* argument, Struct result, Struct* to) {
  RETURN_IF_ERROR(CheckStructSize(argument, to));
  result.struct_size = to->struct_size;
  std::memset(reinterpret_cast<std::byte*>(to + 1), 0, to->struct_size - sizeof(Struct));
  *to = result;
  return absl::OkStatus();
}

absl::Status CheckIndex(std::size_t index, std::size_t count) {
  if (index < count) return absl::OkStatus();
  return absl::InvalidArgumentError("index is " + std::to_string(index) + "; there are " +
                                    std::to_string(count));
}

absl::Status OpenModel(std::string_view model, const tributary_delegate_options* given,
                       tributary_delegate** delegate) {
  ASSIGN_OR_RETURN(const tributary_delegate_options options, OptionsOf(given));
  auto handle = std::make_unique<tributary_delegate>();
  ASSIGN_OR_RETURN(handle->opened, OpenedDelegate::Open(model, options));
  *delegate = handle.release();
  return absl::OkStatus();
}

absl::Status GivePort(std::span<const graph::PortReport> ports, std::size_t index,
                      tributary_delegate_port* to) {
  RETURN_IF_ERROR(CheckIndex(index, ports.size()));
  const graph::PortReport& port = ports[index];
  tributary_delegate_port result = {};
  result.name = port.name.c_str();
  result.shape = port.spec.shape.data();
  result.rank = port.spec.shape.size();
  result.bytes = port.spec.bytes();
  result.type = TypeNumberOf(port.spec.type);
  return Give("port", result, to);
}

absl::Status GiveNode(const OpenedDelegate& opened, std::size_t index, tributary_delegate_node* to) {
  RETURN_IF_ERROR(CheckIndex(index, opened.nodes().size()));
  const graph::NodeReport& node = opened.nodes()[index];
  tributary_delegate_node result = {};
  result.name = node.name.c_str();
  result.operation = node.operation.c_str();
  result.result = node.result.c_str();
  result.runs_on = node.runs_on.c_str();
  result.arithmetic = node.arithmetic.c_str();
  result.layer = node.layer.c_str();
  result.why_not = opened.WhyNot(node);
  result.multiply_accumulates = node.products;
  result.cycles = node.cycles;
  result.on_accelerator = opened.OnAccelerator(node) ? 1 : 0;
  return Give("node", result, to);
}

}  // namespace
}  // namespace tributary::delegate

using namespace tributary;  // NOLINT(google-build-using-namespace): the functions of C lie outside of it
using namespace tributary::delegate;  // NOLINT(google-build-using-namespace)

uint32_t tributary_delegate_version(void) { return TRIBUTARY_DELEGATE_VERSION_NUMBER; }

const char* tributary_delegate_version_text(void) { return TRIBUTARY_DELEGATE_VERSION_TEXT; }

const char* tributary_delegate_last_error(void) { return LastError(); }

tributary_delegate_status tributary_delegate_open_file(const char* path,
                                                       const tributary_delegate_options* options,
                                                       tributary_delegate** delegate) {
  return Guarded([&]() -> absl::Status {
    if (delegate == nullptr) return IsNull("delegate");
    *delegate = nullptr;
    if (path == nullptr) return IsNull("path");
    ASSIGN_OR_RETURN(const std::string model, ReadModelFile(path));
    return WithContext(path, OpenModel(model, options, delegate));
  });
}

tributary_delegate_status tributary_delegate_open_memory(const void* bytes, size_t size,
                                                         const tributary_delegate_options* options,
                                                         tributary_delegate** delegate) {
  return Guarded([&]() -> absl::Status {
    if (delegate == nullptr) return IsNull("delegate");
    *delegate = nullptr;
    if (bytes == nullptr) return IsNull("bytes");
    if (size > kMostModelBytes) return absl::ResourceExhaustedError("the model is larger than 2 GiB");
    return OpenModel({static_cast<const char*>(bytes), size}, options, delegate);
  });
}

void tributary_delegate_close(tributary_delegate* delegate) { delete delegate; }

size_t tributary_delegate_input_count(const tributary_delegate* delegate) {
  return delegate == nullptr ? 0 : delegate->opened->inputs().size();
}

size_t tributary_delegate_output_count(const tributary_delegate* delegate) {
  return delegate == nullptr ? 0 : delegate->opened->outputs().size();
}

size_t tributary_delegate_node_count(const tributary_delegate* delegate) {
  return delegate == nullptr ? 0 : delegate->opened->nodes().size();
}

tributary_delegate_status tributary_delegate_input(const tributary_delegate* delegate, size_t index,
                                                   tributary_delegate_port* port) {
  return Guarded([&] {
    return delegate == nullptr ? IsNull("delegate") : GivePort(delegate->opened->inputs(), index, port);
  });
}

tributary_delegate_status tributary_delegate_output(const tributary_delegate* delegate, size_t index,
                                                    tributary_delegate_port* port) {
  return Guarded([&] {
    return delegate == nullptr ? IsNull("delegate") : GivePort(delegate->opened->outputs(), index, port);
  });
}

tributary_delegate_status tributary_delegate_node_at(const tributary_delegate* delegate, size_t index,
                                                     tributary_delegate_node* node) {
  return Guarded(
      [&] { return delegate == nullptr ? IsNull("delegate") : GiveNode(*delegate->opened, index, node); });
}

tributary_delegate_status tributary_delegate_plan_of(const tributary_delegate* delegate,
                                                     tributary_delegate_plan* plan) {
  return Guarded([&] {
    return delegate == nullptr ? IsNull("delegate") : Give("plan", delegate->opened->plan(), plan);
  });
}

tributary_delegate_status tributary_delegate_run(tributary_delegate* delegate,
                                                 const tributary_delegate_input_array* inputs,
                                                 size_t input_count,
                                                 const tributary_delegate_output_array* outputs,
                                                 size_t output_count) {
  return Guarded([&]() -> absl::Status {
    if (delegate == nullptr) return IsNull("delegate");
    if (inputs == nullptr && input_count > 0) return IsNull("inputs");
    if (outputs == nullptr && output_count > 0) return IsNull("outputs");
    return delegate->opened->Run({inputs, input_count}, {outputs, output_count});
  });
}
