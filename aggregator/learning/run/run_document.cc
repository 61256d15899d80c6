#include "aggregator/learning/run/run_document.h"

#include <fmt/format.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"

namespace tributary {
namespace {

using nlohmann::json;

// What does not have 32 bytes is not what was written.
Sha256 ShaOf(const json& value) {
  const std::string bytes = absl::HexStringToBytes(value.get<std::string>());
  Sha256 sha{};
  if (bytes.size() != sha.size()) throw std::invalid_argument("a digest of another length");
  std::memcpy(sha.data(), bytes.data(), sha.size());
  return sha;
}

json FixedPointJson(const FixedPoint& fixed_point) {
  return {{"fraction_bits", fixed_point.fraction_bits}, {"bound", fixed_point.bound}};
}

json OpenRoundJson(const RoundStarted& open) {
  json asked = json::array();
  for (const AskedNode& node : open.asked) {
    asked.push_back({node.node, node.weight, node.sample_count, node.partial_sums});
  }
  return {{"round", open.round}, {"asked", asked}, {"fixed_point", FixedPointJson(open.fixed_point)}};
}

RoundStarted OpenRoundOf(const json& value) {
  RoundStarted open;
  open.round = value.at("round");
  for (const json& node : value.at("asked")) {
    open.asked.push_back({node.at(0), node.at(1), node.at(2), node.size() > 3 && node.at(3).get<bool>()});
  }
  open.fixed_point.fraction_bits = value.at("fixed_point").at("fraction_bits");
  open.fixed_point.bound = value.at("fixed_point").at("bound");
  return open;
}

json HeaderJson(const SubmissionHeader& header) {
  json contributors = json::array();
  for (const Contribution& each : header.contributors) contributors.push_back({each.node, each.sample_count});
  return {{"round", header.round},
          {"node", header.node},
          {"schema", HexOf(header.schema)},
          {"base_model", HexOf(header.base_model)},
          {"encoding", UpdateEncodingName(header.encoding)},
          {"element_count", header.element_count},
          {"sample_count", header.sample_count},
          {"loss", header.metrics.loss},
          {"spread", header.metrics.spread},
          {"seconds", header.metrics.seconds},
          {"steps", header.metrics.steps},
          {"contributors", contributors}};
}

SubmissionHeader HeaderOf(const json& value) {
  SubmissionHeader header;
  header.round = value.at("round");
  header.node = value.at("node");
  header.schema = ShaOf(value.at("schema"));
  header.base_model = ShaOf(value.at("base_model"));
  const auto encoding = ParseUpdateEncoding(value.at("encoding").get<std::string>());
  if (!encoding) throw std::invalid_argument("an unknown encoding");
  header.encoding = *encoding;
  header.element_count = value.at("element_count");
  header.sample_count = value.at("sample_count");
  header.metrics = {value.at("loss"), value.at("spread"), value.at("seconds"), value.at("steps")};
  for (const json& each : value.at("contributors")) header.contributors.push_back({each.at(0), each.at(1)});
  return header;
}

// The JSON library throws at what does not fit.
template <class Result, class Read>
absl::StatusOr<Result> Decode(std::string_view text, std::string_view what, Read read) {
  try {
    return read(json::parse(text));
  } catch (const std::exception& error) {
    return absl::DataLossError(fmt::format("the store's {} cannot be read: {}", what, error.what()));
  }
}

std::string Dump(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

}  // namespace

std::string EncodeRunDocument(const RunDocument& document) {
  const RunSnapshot& snapshot = document.snapshot;
  json earlier = json::array();
  for (const Sha256& model : snapshot.earlier_models) earlier.push_back(HexOf(model));
  json value = {{"round", snapshot.round},
                {"committed", snapshot.committed},
                {"paused", snapshot.paused},
                {"stopped", snapshot.stopped},
                {"step", static_cast<int>(snapshot.step)},
                {"closed", snapshot.closed},
                {"earlier_models", earlier},
                {"failure", document.failure},
                {"round_started_unix_ns", document.round_started_unix_ns},
                {"refused", document.refused},
                {"relayed", document.relayed}};
  if (snapshot.open) value["open"] = OpenRoundJson(*snapshot.open);
  return Dump(value);
}

absl::StatusOr<RunDocument> DecodeRunDocument(std::string_view text) {
  return Decode<RunDocument>(text, "run", [](const json& value) {
    RunDocument document;
    RunSnapshot& snapshot = document.snapshot;
    snapshot.round = value.at("round");
    snapshot.committed = value.at("committed");
    snapshot.paused = value.at("paused");
    snapshot.stopped = value.at("stopped");
    snapshot.step = static_cast<RoundStep>(value.at("step").get<int>());
    snapshot.closed = value.at("closed");
    for (const json& model : value.at("earlier_models")) snapshot.earlier_models.push_back(ShaOf(model));
    if (value.contains("open")) snapshot.open = OpenRoundOf(value["open"]);
    document.failure = value.at("failure");
    document.round_started_unix_ns = value.at("round_started_unix_ns");
    document.refused = value.at("refused");
    document.relayed = value.value("relayed", false);
    return document;
  });
}

std::string EncodeSubmissionDocument(const SubmissionDocument& document) {
  return Dump({{"header", HeaderJson(document.update.header)},
               {"weight", document.update.weight},
               {"norm", document.norm},
               {"payload_bytes", document.payload_bytes}});
}

absl::StatusOr<SubmissionDocument> DecodeSubmissionDocument(std::string_view text) {
  return Decode<SubmissionDocument>(text, "submission", [](const json& value) {
    SubmissionDocument document;
    document.update = {HeaderOf(value.at("header")), value.at("weight")};
    document.norm = value.at("norm");
    document.payload_bytes = value.at("payload_bytes");
    return document;
  });
}

std::string EncodeRoundLine(const RoundLine& line) { return Dump(RoundLineJson(line)); }

absl::StatusOr<RoundLine> DecodeRoundLine(std::string_view text) {
  return Decode<RoundLine>(text, "history", RoundLineOf);
}

}  // namespace tributary
