// Any bytes as an aggregator's answer are shown, without a crash: no control character reaches the terminal,
// and an answer that is small enough to be read is printed as JSON.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/ascii.h"
#include "cli/connection.h"
#include "cli/run/run_messages.h"
#include "cli/watch/node_tables.h"
#include "core/wire/json.h"
#include "tributary/v1/fleet.pb.h"
#include "tributary/v1/run.pb.h"

namespace tributary::cli {
namespace {

constexpr std::int64_t kNowNs = 1'700'000'000'000'000'000;

void Show(const std::string& text) {
  const auto harmful = [](char c) { return absl::ascii_iscntrl(static_cast<unsigned char>(c)) && c != '\n'; };
  if (std::ranges::any_of(text, harmful)) std::abort();
}

void Print(const google::protobuf::Message& message, std::size_t size) {
  constexpr std::size_t kMaxBytes = std::size_t{64} << 10;  // JSON takes a hundred times as much
  if (size > kMaxBytes) return;
  if (!nlohmann::json::accept(wire::MessageJson(message))) std::abort();
}

template <class Message>
void Read(const std::uint8_t* bytes, std::size_t size, const auto& show) {
  Message message;
  if (!message.ParseFromArray(bytes, static_cast<int>(size))) return;
  show(message);
  Print(message, size);
}

}  // namespace
}  // namespace tributary::cli

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace tributary;
  using namespace tributary::cli;
  Read<v1::ListNodesResponse>(bytes, size, [](const v1::ListNodesResponse& response) {
    Show(NodesText(response, kNowNs) + LearnersText(response));
    OnlySite(response).status().IgnoreError();
  });
  Read<v1::ListRunsResponse>(bytes, size, [](const auto& response) { Show(RunsText(response)); });
  Read<v1::GetRunResponse>(bytes, size, [](const auto& response) { Show(RunText(response)); });
  Read<v1::ListModelsResponse>(bytes, size, [](const auto& response) { Show(ModelsText(response, kNowNs)); });
  Read<v1::WatchRunResponse>(bytes, size, [](const v1::WatchRunResponse& response) {
    Show(RunSummary(response.run()) + RollBackText(response.run(), 1));
    const int lines = std::min(response.rounds_size(), 1'000);
    for (int i = 0; i < lines; ++i) Show(RoundLineText(response.rounds(i)));
  });
  return 0;
}
