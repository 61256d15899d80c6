// A line of a run's history, and how it is written down.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace tributary {

// On the operator's labelled images, beside the same network before the first round.
struct Judgement {
  double linear_probe = 0;  // share of the test images, 0 … 1
  double knn = 0;
  double spread = 0;
  double random_linear_probe = 0;
  double random_knn = 0;
  double random_spread = 0;
  std::uint32_t test_images = 0;
};

struct RoundContribution {
  std::string node;
  std::uint64_t sample_count = 0;
  double loss = 0;
  double seconds = 0;
};

// A node that said that it could not do its task.
struct RoundDecline {
  std::string node;
  std::string reason;   // DeclineReasonName
  std::string message;  // the node's own words
};

// A committed round, one that failed, or a return to an earlier model.
struct RoundLine {
  std::uint32_t round = 0;
  std::int64_t started_unix_ns = 0;
  std::int64_t ended_unix_ns = 0;
  std::uint32_t asked = 0;
  std::uint32_t accepted = 0;
  std::uint32_t refused = 0;
  std::uint32_t dropped = 0;
  std::uint32_t declined = 0;  // of the dropped
  std::uint64_t sample_count = 0;
  double loss = 0;  // mean over the accepted, weighted by samples
  double spread = 0;
  double update_norm = 0;
  std::uint64_t received_bytes = 0;
  std::string model_sha256;  // 32 bytes; empty: the model stayed as it was
  std::vector<RoundContribution> contributions;
  std::vector<RoundDecline> declines;  // DeclinedTasks::kNamed of them at most
  std::optional<Judgement> judgement;
  bool rolled_back = false;  // to the model after round `round`
  std::string failure;       // why the round changed nothing
  double epsilon = 0;        // spent up to here; 0: the run is not differentially private

  bool committed() const { return !rolled_back && failure.empty(); }
};

// The store and the HTTP interface write it alike. Reading throws the library's exceptions at what this has
// not written.
nlohmann::json RoundLineJson(const RoundLine& line);
RoundLine RoundLineOf(const nlohmann::json& value);

}  // namespace tributary
