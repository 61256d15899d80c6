#include "cli/watch/watch_session.h"

#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/wire/convert.h"
#include "core/wire/message_json.h"

namespace tributary::cli {

WatchSession::WatchSession(Options options, std::shared_ptr<grpc::Channel> channel, const Truth* truth,
                           const runtime::Clock& clock)
    : options_(std::move(options)),
      channel_(std::move(channel)),
      truth_(truth),
      clock_(clock),
      statistics_(truth),
      thread_([this](std::stop_token stop) { Run(std::move(stop)); }) {}

WatchSession::~WatchSession() { Stop(); }

void WatchSession::Stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

absl::Status WatchSession::status() const {
  const runtime::MutexLock lock(mutex_);
  return status_.value_or(absl::OkStatus());
}

bool WatchSession::done() const {
  const runtime::MutexLock lock(mutex_);
  // Also where no slot comes any more to end the session.
  return status_.has_value() || TimeIsOver(clock_.SteadyNs());
}

bool WatchSession::TimeIsOver(std::int64_t steady_ns) const {
  return options_.seconds > 0 && first_steady_ns_ > 0 &&
         static_cast<double>(steady_ns - first_steady_ns_) >= 1e9 * options_.seconds;
}

void WatchSession::Run(std::stop_token stop) {
  std::stop_source enough;
  const std::stop_callback forward(stop, [&enough] { enough.request_stop(); });
  const auto lost = [this](const absl::Status& error) {
    const runtime::MutexLock lock(mutex_);
    note_ = absl::StrCat("link lost (", error.message(), "), trying again");
  };
  const absl::Status status = link::WatchSlots(
      channel_, options_.watch, enough.get_token(),
      [&](const wire::WatchedSlot& slot, const std::vector<std::string>& leaves) {
        Take(slot, leaves, enough);
      },
      lost);
  const runtime::MutexLock lock(mutex_);
  status_ = status;
}

void WatchSession::Take(const wire::WatchedSlot& slot, const std::vector<std::string>& leaves,
                        std::stop_source& enough) {
  const std::int64_t unix_ns = clock_.UnixNs();
  const std::int64_t steady_ns = clock_.SteadyNs();
  const std::int64_t latency_ns = unix_ns - slot.captured_unix_ns;
  {
    const runtime::MutexLock lock(mutex_);
    if (first_steady_ns_ == 0) first_steady_ns_ = steady_ns;
    if (TimeIsOver(steady_ns)) {
      enough.request_stop();
      return;
    }
    statistics_.Add(slot, leaves.size(), unix_ns, steady_ns);
    latest_ = slot;
    leaves_ = leaves.size();
    latest_latency_ns_ = latency_ns;
    note_.clear();
  }
  if (options_.print_slots) {
    const std::string line = wire::MessageJson(
        wire::SlotMessage(options_.watch.site, slot, slot.length, leaves, slot.skipped_slots));
    // At once: behind a pipe a slow rate would else stand in the buffer. A reader that has gone ends the
    // watch.
    if (std::printf("%s\n", line.c_str()) < 0 || std::fflush(stdout) != 0) enough.request_stop();
  }
}

std::optional<WatchView> WatchSession::View() {
  WatchView view;
  {
    const runtime::MutexLock lock(mutex_);
    if (first_steady_ns_ == 0) return std::nullopt;
    view = {options_.watch.site,   note_, latest_, leaves_, 1e-3 * static_cast<double>(latest_latency_ns_),
            statistics_.figures(), 0};
  }
  const double elapsed_s = view.figures.seconds - viewed_seconds_;
  if (elapsed_s >= 1) {
    recent_fused_per_s_ = static_cast<double>(view.figures.fused - viewed_fused_) / elapsed_s;
    viewed_seconds_ = view.figures.seconds;
    viewed_fused_ = view.figures.fused;
  }
  view.fused_per_s = viewed_seconds_ > 0 ? recent_fused_per_s_ : view.figures.fused_per_s;
  return view;
}

}  // namespace tributary::cli
