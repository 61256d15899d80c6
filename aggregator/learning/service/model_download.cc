#include "aggregator/learning/service/model_download.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "core/exchange/model_description.h"
#include "core/exchange/onnx_file.h"
#include "core/nn/encoder/encoder_file.h"
#include "core/parameters/safetensors.h"
#include "core/status/context.h"
#include "core/status/macros.h"

namespace tributary::learning {
namespace {

http::HttpDownload Attachment(std::uint64_t bytes, const std::string& digest, std::string_view extension) {
  http::HttpDownload download;
  download.bytes = bytes;
  download.headers = {
      {"Content-Disposition", fmt::format("attachment; filename=\"{}.{}\"", digest, extension)}};
  return download;
}

absl::StatusOr<std::string> ReadPiece(store::CheckedReader& file, std::size_t most) {
  std::string piece(std::min<std::uint64_t>(most, file.remaining()), '\0');
  ASSIGN_OR_RETURN(const std::size_t got, file.Read(piece.data(), piece.size()));
  piece.resize(got);
  return piece;
}

absl::StatusOr<std::string> ReadWhole(store::CheckedReader& file) {
  std::string whole;
  whole.reserve(file.remaining());
  while (file.remaining() > 0) {
    ASSIGN_OR_RETURN(const std::string piece, ReadPiece(file, http::HttpDownload::kMostPieceBytes));
    whole += piece;
  }
  return whole;
}

}  // namespace

// The file is read on the server's thread, a piece at a time: it comes from the page cache or the disk as
// fast as the reader takes it.
http::HttpDownload SafetensorsDownload(OpenModel model, const std::string& digest) {
  auto open = std::make_shared<OpenModel>(std::move(model));
  http::HttpDownload download = Attachment(open->record.file.bytes, digest, "safetensors");
  download.next = [open] { return ReadPiece(open->file, http::HttpDownload::kMostPieceBytes); };
  return download;
}

absl::StatusOr<http::HttpDownload> OnnxDownload(OpenModel model, const std::string& run,
                                                const std::string& digest) {
  ASSIGN_OR_RETURN(const std::string file, ReadWhole(model.file));
  ASSIGN_OR_RETURN(parameters::TensorSet set, parameters::DecodeSafetensors(file));
  exchange::Describe(set, {run, model.record.round});
  ASSIGN_OR_RETURN(const nn::EncoderFile encoder,
                   WithContext("only encoders can be written as ONNX", nn::EncoderFromTensors(set)));
  ASSIGN_OR_RETURN(std::string encoded, exchange::EncodeOnnx(encoder, set.metadata));
  http::HttpDownload download = Attachment(encoded.size(), digest, "onnx");
  download.next = [onnx = std::make_shared<const std::string>(std::move(encoded)), at = std::size_t{0},
                   place = std::move(model.place)]() mutable {
    const std::string piece = onnx->substr(at, http::HttpDownload::kMostPieceBytes);
    at += piece.size();
    return absl::StatusOr<std::string>(piece);
  };
  return download;
}

}  // namespace tributary::learning
