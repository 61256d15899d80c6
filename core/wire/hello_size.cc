#include "core/wire/hello_size.h"

#include <fmt/format.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <string>

namespace tributary::wire {
namespace {

constexpr std::size_t kMaxFields = 300;
constexpr std::size_t kMaxPartFields = 4'096;

constexpr const char* kRemedy =
    "use fewer or shorter names of sources, leaves and classes, or report from several nodes";

}  // namespace

NestedFields HelloFields() {
  return {.number = v1::ReportRequest::kHelloFieldNumber,
          .limit = kMaxFields,
          .type = v1::Hello::descriptor(),
          .inner_limit = kMaxPartFields};
}

absl::Status TooLargeHello(std::size_t bytes) {
  if (bytes > kMaxHelloBytes) {
    return absl::InvalidArgumentError(
        fmt::format("hello: {} bytes, allowed are {}; {}", bytes, kMaxHelloBytes, kRemedy));
  }
  return absl::InvalidArgumentError(
      fmt::format("hello: more than {} fields, or than {} in its sources: each source names all its leaves "
                  "and classes; {}",
                  kMaxFields, kMaxPartFields, kRemedy));
}

absl::Status CheckHelloSize(const v1::Hello& hello) {
  v1::ReportRequest request;
  *request.mutable_hello() = hello;
  const std::string bytes = request.SerializeAsString();
  google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  if (bytes.size() <= kMaxHelloBytes && !HasMoreFields(stream, 1, {{HelloFields()}})) return absl::OkStatus();
  return TooLargeHello(bytes.size());
}

}  // namespace tributary::wire
