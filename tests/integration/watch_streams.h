// Opens Watch streams on a running aggregator, and measures how long each waits for its first slot and for
// any later one.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "core/link/channel.h"
#include "core/link/watcher.h"
#include "core/runtime/clock.h"
#include "core/runtime/mutex.h"
#include "tests/support/process.h"

namespace tributary::testing {

struct WatchTimes {
  std::vector<double> first_slot_s;   // per stream: from opening it to its first slot; infinite if none came
  std::vector<double> longest_gap_s;  // per stream: between two slots

  // The value that 99 % of the streams do not exceed.
  static double P99(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values.at((values.size() * 99 + 99) / 100 - 1);
  }
  static double Max(const std::vector<double>& values) {
    return *std::max_element(values.begin(), values.end());
  }
};

// Opens `streams` of them, `at_once` at a time, each on a connection of its own and read for `seconds`.
inline WatchTimes WatchAfresh(int port, int streams, int at_once, double seconds) {
  const runtime::SystemClock clock;
  runtime::Mutex mutex;
  WatchTimes times;
  int left = streams;
  std::vector<std::jthread> threads;
  const auto watch_one = [&] {
    double first_s = std::numeric_limits<double>::infinity();
    double gap_s = 0;
    std::int64_t last_ns = 0;
    std::stop_source enough;
    const std::int64_t opened_ns = clock.SteadyNs();
    const auto take = [&](const wire::WatchedSlot&, const wire::SiteDescription&) {
      const std::int64_t now_ns = clock.SteadyNs();
      if (last_ns == 0) {
        first_s = 1e-9 * static_cast<double>(now_ns - opened_ns);
      } else {
        gap_s = std::max(gap_s, 1e-9 * static_cast<double>(now_ns - last_ns));
      }
      last_ns = now_ns;
      if (1e-9 * static_cast<double>(now_ns - opened_ns) >= seconds) enough.request_stop();
    };
    (void)link::WatchSlots(link::MakeChannel("127.0.0.1:" + std::to_string(port), std::nullopt), {"room", 0},
                           enough.get_token(), take, [](const absl::Status&) {});
    const runtime::MutexLock lock(mutex);
    times.first_slot_s.push_back(first_s);
    times.longest_gap_s.push_back(gap_s);
  };
  for (int i = 0; i < at_once; ++i) {
    threads.emplace_back([&] {
      for (;;) {
        {
          const runtime::MutexLock lock(mutex);
          if (left-- <= 0) return;
        }
        watch_one();
      }
    });
  }
  threads.clear();
  return times;
}

// The same with a Python client; nothing if this machine lacks what it needs (`log` names it).
inline std::optional<WatchTimes> WatchAfreshInPython(int port, int streams, int at_once, double seconds,
                                                     const std::string& output, const std::string& log) {
  const std::string command =
      std::string("/usr/bin/python3 ") +
      TRIBUTARY_SOURCE_DIR "/tests/integration/watch_streams.py 127.0.0.1:" + std::to_string(port) +
      " room " + std::to_string(streams) + " " + std::to_string(at_once) + " " + std::to_string(seconds) +
      " >" + output + " 2>" + log;
  const int status = std::system(command.c_str());
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) return std::nullopt;
  const auto found = nlohmann::json::parse(ReadText(output), nullptr, false);
  WatchTimes times;
  if (!found.is_object()) return times;
  const auto seconds_of = [](const nlohmann::json& value) {
    return value.is_number() ? value.get<double>() : std::numeric_limits<double>::infinity();
  };
  for (const auto& value : found["first_slot_s"]) times.first_slot_s.push_back(seconds_of(value));
  for (const auto& value : found["longest_gap_s"]) times.longest_gap_s.push_back(seconds_of(value));
  return times;
}

}  // namespace tributary::testing
