#include "node/source/serial.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <utility>
#include <vector>

#include "core/runtime/log.h"
#include "core/status/macros.h"

namespace tributary::source {
namespace {

using namespace std::chrono_literals;

constexpr auto kLookForStop = 20ms;
constexpr std::int64_t kReopenNs = 500'000'000;

// Remembers what its board computed.
class TappedBoard final : public serial::Board {
 public:
  explicit TappedBoard(std::unique_ptr<serial::Board> board) : board_(std::move(board)) {}

  absl::Status SetLayer(std::size_t layer, std::span<const serial::Word> weights) override {
    return board_->SetLayer(layer, weights);
  }
  absl::Status Compute(std::span<const serial::Inputs> inputs, std::span<serial::Outputs> outputs) override {
    RETURN_IF_ERROR(board_->Compute(inputs, outputs));
    computed_.emplace_back(inputs.begin(), inputs.end());
    return absl::OkStatus();
  }
  absl::StatusOr<serial::Retraining> Retrain(std::span<const serial::Sample> samples) override {
    return board_->Retrain(samples);
  }

  // In their order. As many as one read of the line holds.
  std::deque<std::vector<serial::Inputs>>& computed() { return computed_; }

 private:
  const std::unique_ptr<serial::Board> board_;
  std::deque<std::vector<serial::Inputs>> computed_;
};

class SerialSource final : public Source {
 public:
  SerialSource(const SerialSourceOptions& options, std::unique_ptr<serial::Board> board,
               std::shared_ptr<const nn::BeaconNetwork> network, const runtime::Clock& clock)
      : options_(options),
        network_(std::move(network)),
        clock_(clock),
        board_(std::move(board)),
        session_(board_),
        account_(std::make_shared<SerialAccount>()) {}

  absl::Status Open() {
    ASSIGN_OR_RETURN(port_, runtime::SerialPort::Open(options_.port, options_.baud));
    runtime::LogInfo("panel {} is a beacon board at {}", options_.panel, options_.port);
    return absl::OkStatus();
  }

  absl::Status Next(std::stop_token stop, SensorFrame& frame) override {
    while (board_.computed().empty()) {
      if (stop.stop_requested()) return absl::CancelledError("stopped");
      if (port_ == nullptr && !Open().ok()) {
        clock_.SleepFor(kReopenNs, stop);
        continue;
      }
      if (const absl::Status status = Converse(); !status.ok()) Lose(status);
      counters_.session = session_.counters();
      account_->Set(counters_);
    }
    Fill(board_.computed().front(), frame);
    board_.computed().pop_front();
    return absl::OkStatus();
  }

  // A master waits for its answers: it misses nothing.
  std::uint64_t missed_frames() const override { return 0; }
  std::shared_ptr<const SerialAccount> serial_account() const override { return account_; }

 private:
  absl::Status Converse() {
    ASSIGN_OR_RETURN(const std::string_view bytes, port_->Read(kLookForStop));
    replies_.clear();
    session_.Take(bytes, clock_.SteadyNs(), replies_);
    session_.Idle(clock_.SteadyNs(), replies_);
    if (replies_.empty()) return absl::OkStatus();
    absl::Status sent = port_->Write(replies_, 1s);
    if (!absl::IsDeadlineExceeded(sent)) return sent;
    ++counters_.unsent_replies;
    return absl::OkStatus();
  }

  void Lose(const absl::Status& status) {
    runtime::LogError("panel {}: {}; opens it again", options_.panel, std::string(status.message()));
    ++counters_.lost_lines;
    port_.reset();
  }

  void Fill(const std::vector<serial::Inputs>& inputs, SensorFrame& frame) const {
    frame.captured_unix_ns = clock_.UnixNs();
    frame.epoch = options_.slot.EpochAt(frame.captured_unix_ns);
    frame.subjects.clear();
    frame.features.clear();
    for (const serial::Inputs& each : inputs) {
      frame.subjects.push_back(static_cast<std::uint32_t>(frame.subjects.size() + 1));
      nn::BeaconInputs normalised;
      std::ranges::transform(each, normalised.begin(), serial::ValueOf);
      for (const double range_m : nn::RangesOf(*network_, normalised)) {
        frame.features.push_back(static_cast<float>(range_m));
      }
    }
  }

  const SerialSourceOptions options_;
  const std::shared_ptr<const nn::BeaconNetwork> network_;
  const runtime::Clock& clock_;
  TappedBoard board_;
  serial::Session session_;
  const std::shared_ptr<SerialAccount> account_;
  SerialCounters counters_;
  std::unique_ptr<runtime::SerialPort> port_;  // null while the device is away
  std::string replies_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Source>> CreateSerial(const SerialSourceOptions& options,
                                                     std::unique_ptr<serial::Board> board,
                                                     std::shared_ptr<const nn::BeaconNetwork> network,
                                                     const runtime::Clock& clock) {
  auto source = std::make_unique<SerialSource>(options, std::move(board), std::move(network), clock);
  RETURN_IF_ERROR(source->Open());
  return source;
}

}  // namespace tributary::source
