// What it costs a panel to take its samples over UDP: UdpSource against the same loop on Boost.Asio.
//
// Usage: udp_source_bench [ROUNDS]. A thread sends on the loopback, and this one takes the frames. Both sides
// alternate within a round, in turn first; a ratio is the median over the rounds of Asio's figure by ours.
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/udp.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/asio_udp_source.h"
#include "core/runtime/clock.h"
#include "core/runtime/log.h"
#include "node/source/udp.h"
#include "node/source/udp_datagram.h"

namespace tributary {
namespace {

constexpr std::uint16_t kWidth = 1024;
constexpr std::uint16_t kFeaturesOfDatagram = 358;  // that an Ethernet frame holds (docs/udp-datagram.md)
constexpr std::uint32_t kDatagramsOfSubject = 3;
constexpr std::uint32_t kMostSubjects = 16;

std::int64_t NowNs() { return runtime::SystemClock().SteadyNs(); }

std::int64_t OwnCpuNs() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return used.tv_sec * 1'000'000'000LL + used.tv_nsec;
}

// The sender's: in the slot that it sends, whatever the time is. Lets the bench send more slots than a second
// has.
class SlotClock final : public runtime::Clock {
 public:
  std::int64_t UnixNs() const override { return unix_ns.load(std::memory_order_relaxed); }
  std::int64_t SteadyNs() const override { return NowNs(); }
  void SleepUntil(std::int64_t /*unix_ns*/, std::stop_token /*stop*/) const override {}

  std::atomic<std::int64_t> unix_ns = 0;
};

// A traffic: `slots` slots, one each `every_ns` (0: as fast as they are taken), `subjects` users in each.
struct Traffic {
  std::string_view name;
  std::uint32_t subjects;
  std::int64_t every_ns;
  std::size_t slots;
};

constexpr Traffic kTraffics[] = {
    {"as fast as it takes them, 16 users", kMostSubjects, 0, 6'000},
    {"2,000 slots/s of 16 users", kMostSubjects, 500'000, 2'000},
    {"1,000 slots/s of 1 user", 1, 1'000'000, 1'000},
    {"100 slots/s of 1 user", 1, 10'000'000, 100},
};

// A front end. Its slots are those after the first.
class FrontEnd {
 public:
  FrontEnd(const Traffic& traffic, std::uint16_t port, SlotClock& clock) : traffic_(traffic), clock_(clock) {
    socket_.connect({boost::asio::ip::address_v4::loopback(), port});
    const std::vector<float> features(kWidth, 1.0f);
    for (std::uint32_t subject = 0; subject < traffic.subjects; ++subject) {
      for (std::uint16_t first = 0; first < kWidth; first += kFeaturesOfDatagram) {
        const std::uint16_t count = std::min<std::uint16_t>(kFeaturesOfDatagram, kWidth - first);
        datagrams_.push_back(
            source::EncodeUdpFragment({.panel = 3,
                                       .epoch = 0,
                                       .captured_unix_ns = 0,
                                       .subject = subject,
                                       .subjects = static_cast<std::uint16_t>(traffic.subjects),
                                       .width = kWidth,
                                       .first = first,
                                       .count = count,
                                       .payload = {}},
                                      std::span(features).first(count)));
      }
    }
  }

  // Sends all slots. Where they have no rate, is no more than kAhead slots ahead of the receiver: 2 MiB of
  // the socket's buffer, in which the kernel counts some 2.3 KB for a datagram.
  void Run() {
    std::int64_t due_ns = NowNs();
    for (std::size_t slot = 0; slot < traffic_.slots; ++slot) {
      while (traffic_.every_ns == 0 && slot > taken.load(std::memory_order_acquire) + kAhead) {
        std::this_thread::yield();
      }
      if (traffic_.every_ns > 0) {
        due_ns += traffic_.every_ns;
        const timespec due{due_ns / 1'000'000'000, due_ns % 1'000'000'000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, nullptr);
      }
      Send(slot);
    }
  }

  std::atomic<std::size_t> taken = 0;
  std::atomic<std::int64_t> sent_ns = 0;  // just before the last datagram of the newest slot

 private:
  static constexpr std::size_t kAhead = 16;
  static constexpr std::size_t kEpochAt = 8, kCapturedAt = 16;  // docs/udp-datagram.md

  void Send(std::size_t slot) {
    const estimate::Epoch epoch = 4'000'000'000'000 + slot;
    const std::int64_t start_ns = estimate::SlotLength().StartNs(epoch);
    clock_.unix_ns.store(start_ns, std::memory_order_relaxed);
    for (std::string& datagram : datagrams_) {
      std::memcpy(&datagram[kEpochAt], &epoch, sizeof(epoch));
      std::memcpy(&datagram[kCapturedAt], &start_ns, sizeof(start_ns));
      if (&datagram == &datagrams_.back()) sent_ns.store(NowNs(), std::memory_order_release);
      socket_.send(boost::asio::buffer(datagram));
    }
  }

  const Traffic traffic_;
  SlotClock& clock_;
  boost::asio::io_context io_;
  boost::asio::ip::udp::socket socket_{io_};
  std::vector<std::string> datagrams_;  // of a slot
};

struct Figures {
  double datagrams_per_s = 0, cpu_ns = 0;  // of a datagram
  double latency_us = 0;                   // median, from the last datagram of a slot to its frame
  std::uint64_t lost = 0;
};

Figures Measure(const Traffic& traffic, source::Source& source, SlotClock& clock) {
  FrontEnd front_end(traffic, source.udp_account()->port(), clock);
  std::vector<double> latency_us;
  latency_us.reserve(traffic.slots);
  std::stop_source stop;
  source::SensorFrame frame;
  const std::int64_t begin_ns = NowNs(), begin_cpu_ns = OwnCpuNs();
  std::jthread sender([&] {
    front_end.Run();
    // A receiver that lost something would wait for ever.
    const std::int64_t patience_ns = NowNs() + 500'000'000;
    while (front_end.taken.load() < traffic.slots && NowNs() < patience_ns) std::this_thread::yield();
    stop.request_stop();
  });
  while (front_end.taken.load(std::memory_order_relaxed) < traffic.slots &&
         source.Next(stop.get_token(), frame).ok()) {
    latency_us.push_back(static_cast<double>(NowNs() - front_end.sent_ns.load(std::memory_order_acquire)) /
                         1e3);
    front_end.taken.fetch_add(1, std::memory_order_release);
  }
  const double datagrams = static_cast<double>(latency_us.size()) * traffic.subjects * kDatagramsOfSubject;
  Figures figures{.datagrams_per_s = datagrams / (static_cast<double>(NowNs() - begin_ns) / 1e9),
                  .cpu_ns = static_cast<double>(OwnCpuNs() - begin_cpu_ns) / datagrams};
  figures.lost = traffic.slots - latency_us.size() + source.udp_account()->counters().kernel_drops;
  if (latency_us.empty()) return figures;
  std::ranges::sort(latency_us);
  figures.latency_us = latency_us[latency_us.size() / 2];
  return figures;
}

Figures MeasureOurs(const Traffic& traffic) {
  SlotClock clock;
  const auto source = source::CreateUdp({.assembler = {.panel = 3, .width = kWidth}}, clock);
  return Measure(traffic, **source, clock);
}

Figures MeasureAsio(const Traffic& traffic) {
  SlotClock clock;
  AsioUdpSource source({.panel = 3, .width = kWidth}, clock);
  return Measure(traffic, source, clock);
}

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void Print(const char* what, const std::vector<Figures>& ours, const std::vector<Figures>& theirs,
           double Figures::*figure) {
  std::vector<double> own, other, ratios;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    own.push_back(ours[i].*figure);
    other.push_back(theirs[i].*figure);
    ratios.push_back(other.back() / own.back());
  }
  std::ranges::sort(ratios);
  std::printf("  %-22s %10.1f  Asio %10.1f  ratio %.3f (%.3f to %.3f)\n", what, Median(own), Median(other),
              Median(ratios), ratios.front(), ratios.back());
}

void Compare(const Traffic& traffic, int rounds) {
  std::vector<Figures> ours, theirs;
  std::uint64_t our_lost = 0, their_lost = 0;
  for (int round = 0; round < rounds; ++round) {
    if (round % 2 == 0) ours.push_back(MeasureOurs(traffic));
    theirs.push_back(MeasureAsio(traffic));
    if (round % 2 == 1) ours.push_back(MeasureOurs(traffic));
    our_lost += ours.back().lost;
    their_lost += theirs.back().lost;
  }
  std::printf("%s: lost %llu, Asio %llu\n", traffic.name.data(), static_cast<unsigned long long>(our_lost),
              static_cast<unsigned long long>(their_lost));
  if (traffic.every_ns == 0) Print("datagrams/s", ours, theirs, &Figures::datagrams_per_s);
  Print("CPU, ns per datagram", ours, theirs, &Figures::cpu_ns);
  if (traffic.every_ns == 0) return;  // it waits in the socket's buffer
  Print("latency, us", ours, theirs, &Figures::latency_us);
}

}  // namespace
}  // namespace tributary

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 21;
  if (rounds < 1) {
    std::fputs("usage: udp_source_bench [ROUNDS]\n", stderr);
    return 2;
  }
  if (!tributary::runtime::SetUpLog("warn").ok()) return 1;  // each source says where it listens
  for (const tributary::Traffic& traffic : tributary::kTraffics) tributary::Compare(traffic, rounds);
  return 0;
}
