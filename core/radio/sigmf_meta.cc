#include "core/radio/sigmf_meta.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/status/macros.h"

namespace tributary::radio {
namespace {

using Json = nlohmann::json;

// Beyond this a double, which many writers use, does not tell two counts apart.
constexpr std::uint64_t kMostSamples = std::uint64_t{1} << 53;
constexpr std::size_t kSha512Characters = 128;

template <typename... Values>
absl::Status Wrong(fmt::format_string<Values...> message, Values&&... values) {
  return absl::InvalidArgumentError(fmt::format(message, std::forward<Values>(values)...));
}

// A value as it stands in the file, cut to fit into a line.
std::string Shown(const Json& value) {
  constexpr std::size_t kMost = 40;
  std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
  if (text.size() > kMost) text.replace(kMost, std::string::npos, "…");
  return text;
}

// The parser has no bound of its own.
absl::Status CheckSizeAndDepth(std::string_view json) {
  if (json.size() > kMaxSigmfMetaBytes) {
    return absl::DataLossError(
        fmt::format("metadata: {} bytes, at most {} are read", json.size(), kMaxSigmfMetaBytes));
  }
  int depth = 0;
  bool in_string = false;
  for (std::size_t k = 0; k < json.size(); ++k) {
    const char c = json[k];
    if (in_string) {
      if (c == '\\') ++k;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxSigmfMetaDepth) {
        return absl::DataLossError(
            fmt::format("metadata: nested deeper than {} levels (offset {})", kMaxSigmfMetaDepth, k));
      }
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return absl::OkStatus();
}

// The member, or null.
const Json* Find(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

absl::StatusOr<std::uint64_t> ReadCount(const Json& object, const char* key, const std::string& where) {
  const Json* value = Find(object, key);
  if (value == nullptr) return Wrong("{}.{}: missing", where, key);
  if (!value->is_number_unsigned() || value->get<std::uint64_t>() > kMostSamples) {
    return Wrong("{}.{}: expected a count of samples, found {}", where, key, Shown(*value));
  }
  return value->get<std::uint64_t>();
}

absl::Status ReadDatatype(const Json& global, SigmfMeta& meta) {
  const Json* value = Find(global, "core:datatype");
  if (value == nullptr) return Wrong("global.core:datatype: missing");
  if (*value == "cf32_le") {
    meta.datatype = SigmfDatatype::kCf32;
  } else if (*value == "ci16_le") {
    meta.datatype = SigmfDatatype::kCi16;
  } else {
    return Wrong("global.core:datatype: found {}, only \"cf32_le\" and \"ci16_le\" are supported",
                 Shown(*value));
  }
  return absl::OkStatus();
}

absl::Status ReadSampleRate(const Json& global, SigmfMeta& meta) {
  const Json* value = Find(global, "core:sample_rate");
  if (value == nullptr) return absl::OkStatus();
  meta.sample_rate_hz = value->is_number() ? value->get<double>() : 0;
  if (meta.sample_rate_hz > 0 && std::isfinite(meta.sample_rate_hz)) return absl::OkStatus();
  return Wrong("global.core:sample_rate: expected a positive number of hertz, found {}", Shown(*value));
}

absl::Status ReadDigest(const Json& global, SigmfMeta& meta) {
  const Json* value = Find(global, "core:sha512");
  if (value == nullptr) return absl::OkStatus();
  if (value->is_string()) meta.sha512 = value->get<std::string>();
  for (char& c : meta.sha512) {
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  }
  const bool hexadecimal = meta.sha512.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (hexadecimal && meta.sha512.size() == kSha512Characters) return absl::OkStatus();
  return Wrong("global.core:sha512: expected {} hexadecimal digits, found {}", kSha512Characters,
               Shown(*value));
}

// Fields that would change where samples stand, and that have one supported value.
absl::Status CheckLayout(const Json& global) {
  struct Only {
    const char* key;
    Json supported;
  };
  for (const Only& only : {Only{"core:num_channels", 1}, Only{"core:offset", 0},
                           Only{"core:trailing_bytes", 0}, Only{"core:metadata_only", false}}) {
    const Json* value = Find(global, only.key);
    if (value != nullptr && *value != only.supported) {
      return Wrong("global.{}: found {}, only {} is supported", only.key, Shown(*value),
                   only.supported.dump());
    }
  }
  if (const Json* name = Find(global, "core:dataset"); name != nullptr) {
    return Wrong("global.core:dataset: found {}, only a .sigmf-data file beside the metadata is supported",
                 Shown(*name));
  }
  return absl::OkStatus();
}

absl::Status ReadGlobal(const Json& file, SigmfMeta& meta) {
  const Json* global = Find(file, "global");
  if (global == nullptr) return Wrong("global: missing");
  if (!global->is_object()) return Wrong("global: expected an object, found {}", Shown(*global));
  const Json* version = Find(*global, "core:version");
  if (version == nullptr) return Wrong("global.core:version: missing");
  const std::string text = version->is_string() ? version->get<std::string>() : "";
  if (!text.starts_with("1.") && !text.starts_with("0.")) {
    return Wrong("global.core:version: found {}, only versions 0 and 1 are supported", Shown(*version));
  }
  RETURN_IF_ERROR(ReadDatatype(*global, meta));
  RETURN_IF_ERROR(ReadSampleRate(*global, meta));
  RETURN_IF_ERROR(ReadDigest(*global, meta));
  return CheckLayout(*global);
}

absl::Status ReadCaptures(const Json& file, SigmfMeta& meta) {
  const Json* captures = Find(file, "captures");
  if (captures == nullptr) return Wrong("captures: missing");
  if (!captures->is_array() || captures->empty()) {
    return Wrong("captures: expected a list of at least one, found {}", Shown(*captures));
  }
  for (std::size_t k = 0; k < captures->size(); ++k) {
    const std::string where = fmt::format("captures[{}]", k);
    const Json& capture = (*captures)[k];
    if (!capture.is_object()) return Wrong("{}: expected an object, found {}", where, Shown(capture));
    const Json* header = Find(capture, "core:header_bytes");
    if (header != nullptr && *header != 0) {
      return Wrong("{}.core:header_bytes: found {}, only 0 is supported", where, Shown(*header));
    }
    ASSIGN_OR_RETURN(const std::uint64_t start, ReadCount(capture, "core:sample_start", where));
    if (!meta.capture_starts.empty() && start <= meta.capture_starts.back()) {
      return Wrong("{}.core:sample_start: {} does not follow {}", where, start, meta.capture_starts.back());
    }
    meta.capture_starts.push_back(start);
  }
  return absl::OkStatus();
}

absl::Status ReadAnnotations(const Json& file, SigmfMeta& meta) {
  const Json* annotations = Find(file, "annotations");
  if (annotations == nullptr) return absl::OkStatus();
  if (!annotations->is_array()) {
    return Wrong("annotations: expected a list, found {}", Shown(*annotations));
  }
  for (std::size_t k = 0; k < annotations->size(); ++k) {
    const std::string where = fmt::format("annotations[{}]", k);
    const Json& annotation = (*annotations)[k];
    if (!annotation.is_object()) return Wrong("{}: expected an object, found {}", where, Shown(annotation));
    ASSIGN_OR_RETURN(std::uint64_t end, ReadCount(annotation, "core:sample_start", where));
    if (annotation.contains("core:sample_count")) {
      ASSIGN_OR_RETURN(const std::uint64_t count, ReadCount(annotation, "core:sample_count", where));
      end += count;
    }
    meta.annotated_samples = std::max(meta.annotated_samples, end);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SigmfMeta> ParseSigmfMeta(std::string_view json) {
  RETURN_IF_ERROR(CheckSizeAndDepth(json));
  const Json file = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (file.is_discarded()) return absl::DataLossError("metadata: not JSON");
  if (!file.is_object()) return Wrong("metadata: expected an object, found {}", Shown(file));
  SigmfMeta meta;
  RETURN_IF_ERROR(ReadGlobal(file, meta));
  RETURN_IF_ERROR(ReadCaptures(file, meta));
  RETURN_IF_ERROR(ReadAnnotations(file, meta));
  return meta;
}

std::string SigmfDataFile(std::string_view metadata_file) {
  constexpr std::string_view kMetaEnding = ".sigmf-meta";
  if (!metadata_file.ends_with(kMetaEnding)) return "";
  metadata_file.remove_suffix(kMetaEnding.size());
  return std::string(metadata_file) + ".sigmf-data";
}

}  // namespace tributary::radio
