// Runs of federated learning as the commands show them.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/status.h"
#include "tributary/v1/run.pb.h"

namespace tributary {

nlohmann::ordered_json RunJson(const v1::Run& run);
nlohmann::ordered_json RoundJson(const v1::Round& round);
nlohmann::ordered_json ParticipantJson(const v1::Participant& participant);
nlohmann::ordered_json ModelJson(const v1::Model& model);

// "waiting", "running" …
std::string RunStateName(v1::RunState state);

// A line of the table of rounds, and what stands over it. Shares of test images are in percent.
std::string RoundHeading();
std::string RoundLineText(const v1::Round& round);

// One line about where a run stands.
std::string RunSummary(const v1::Run& run);

// A peer's status as ours, naming the aggregator.
absl::Status FromPeer(const grpc::Status& status, const std::string& aggregator);

// Every unary call has a deadline.
void SetDeadline(grpc::ClientContext& context, std::chrono::seconds limit = std::chrono::seconds(30));

}  // namespace tributary
