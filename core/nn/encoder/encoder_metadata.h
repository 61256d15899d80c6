// An encoder's options as metadata of a model file.
#pragma once

#include <cstddef>
#include <string_view>

#include "absl/status/status.h"
#include "core/nn/encoder/encoder_options.h"
#include "core/parameters/tensor.h"

namespace tributary::nn {

void PutEncoderOptions(const EncoderOptions& options, parameters::TensorSet& set);

// Reads metadata one entry after another and remembers the first fault.
class MetadataReader {
 public:
  // Keeps a reference to the set.
  explicit MetadataReader(const parameters::TensorSet& set) : set_(set) {}

  void ExpectFormat(std::string_view format);
  std::size_t Number(std::string_view key);
  // As PutEncoderOptions puts them; not validated.
  EncoderOptions Encoder();

  // InvalidArgument, naming the entry that is missing or out of range.
  const absl::Status& status() const { return status_; }

 private:
  std::string_view Text(std::string_view key);
  std::size_t Parse(std::string_view key, std::string_view text);
  template <class Value, std::size_t count>
  Value Choice(std::string_view key, const Value (&values)[count]);
  void Fail(std::string_view key, std::string_view what);

  const parameters::TensorSet& set_;
  absl::Status status_;
};

}  // namespace tributary::nn
