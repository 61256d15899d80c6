// Finds the connections that keep a thread that fuses although nothing comes of their bytes.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tributary::server {

// What a thread that fuses has done since its start.
struct ThreadProgress {
  std::uint64_t events = 0;  // entries into gRPC and returns from it: odd while the thread is in it
  std::int64_t used_ns = 0;  // of the processor

  bool in_grpc() const { return events % 2 == 1; }
};

// gRPC 1.51 copies all that has come of a header at each of its frames (CVE-2023-33953). A header of 256 KiB
// in frames of 16 bytes takes 75 ms of a processor, one of 1 MiB 1.4 s, and gRPC reads on as long as bytes
// wait in the socket. It often does so on the thread that fuses, and no limit of gRPC's ends it. Three signs
// together give such a connection away:
//
// * a thread that fuses works in gRPC and gets nothing to do from it;
// * gRPC reads few bytes for the processor's time that this takes: of uploads it reads some 160 KiB a
// millisecond
//   on a server's processor, and slower ones must not be taken for stalls;
// * bytes of the connection were read, and no call and no message came of them.
//
// One thread's.
class StallWatch {
 public:
  struct Sample {
    std::uint64_t connection = 0;  // a number that no other connection has
    std::uint64_t read = 0;        // bytes that gRPC has taken from the socket, in all
    std::uint64_t heard = 0;       // calls and messages that came of it, in all
  };

  // Fewer bytes hold nobody up: window updates and pings.
  static constexpr std::uint64_t kFew = 4 << 10;
  // gRPC reads less from connections that stall, for each millisecond of the processor.
  static constexpr std::uint64_t kReadPerMs = 8 << 10;
  // The processor's time that a thread must have been held for. An honest event comes of less.
  static constexpr std::chrono::milliseconds kHeld{8};

  // One look at all connections that may stall. `held`: the processor's time that a thread has used in gRPC
  // since the last look, without an event. Returns those that stall.
  std::vector<std::uint64_t> Look(std::span<const Sample> samples, std::chrono::nanoseconds held);
  // Instead of a look once each thread has had an event.
  void Forget();

 private:
  std::unordered_map<std::uint64_t, Sample> before_;  // by connection
  // Since the first look after an event, or since much was read:
  std::unordered_set<std::uint64_t> suspects_;
  std::chrono::nanoseconds held_{0};
  std::uint64_t read_ = 0;  // of connections of which nothing came
};

}  // namespace tributary::server
