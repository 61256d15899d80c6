// A model of the store as a file that a browser saves.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "aggregator/learning/service/coordinator.h"
#include "core/http/http_message.h"

namespace tributary::learning {

// The stored safetensors file, read a piece at a time while it is sent.
http::HttpDownload SafetensorsDownload(OpenModel model, const std::string& digest);

// The same as ONNX (core/exchange/onnx_file.h), with the metadata of `tributary model export`. Reads and
// encodes the whole model: some copies of it, and its time. Errors: InvalidArgument for a model that is no
// encoder; those of the store's reader.
absl::StatusOr<http::HttpDownload> OnnxDownload(OpenModel model, const std::string& run,
                                                const std::string& digest);

}  // namespace tributary::learning
