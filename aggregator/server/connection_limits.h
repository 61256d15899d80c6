// What a peer's connections may take.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "aggregator/server/connection_fault.h"
#include "aggregator/server/quarantine.h"

namespace tributary::server {

struct ConnectionLimits {
  std::size_t connections = 1024;
  std::size_t of_address = 512;
  // A connection is silent until its first call: it costs a TLS handshake's memory, and nobody knows yet who
  // it is. Beyond any of these four limits the oldest silent one makes room, so that an honest peer always
  // gets in; only connections that have made calls are never cut for a newcomer.
  std::size_t silent = 512;
  std::size_t silent_of_address = 384;
  // Silent connections of one address that made room in one second. The threads that fuse also take in
  // connections, so a flood of half handshakes costs the panels time. A crowd of honest boards behind one
  // address comes back a second later at the earliest.
  std::size_t silent_cuts = 512;
  // The same of an address that is suspect (IsSuspect). Five hundred boards may still come back behind it.
  std::size_t suspect_cuts() const { return silent_cuts / 4; }
  // Calls that are not over. A peer that resets its streams as fast as it opens them leaves calls behind that
  // gRPC still has to end; no other peer has more calls than streams: 128 (IngestServer).
  std::size_t calls_of_connection = 512;
  // A node that learns has a stream of tasks and an upload at the same time.
  std::size_t calls = 2048;
  // A peer is whoever its certificate names, or without TLS an address. Its share:
  std::size_t calls_of_peer() const { return calls / 2; }
  // In one second, of one peer that has a name. A node makes some ten calls in a round.
  std::size_t call_rate = 500;
  // The same by their headers, which count before gRPC reads on; beyond it all connections of the name go
  // that neither report nor upload. Its 512 nodes may come back together.
  std::size_t call_burst = 1'000;
  // Without TLS: ten thousand nodes may join at once from one address.
  std::size_t call_rate_of_address = 20'000;
  // In one second, of one name: calls that its roles do not allow, or that nobody serves.
  std::size_t refused_calls = 100;
  // In one second, of one connection: streams of reports and watchers, and what RareCalls answers. Each costs
  // the thread that fuses some time, also if it ends at once.
  std::size_t rare_calls = 500;
  // In one second, of one peer: Report streams that ended without a hello, on however many connections. gRPC
  // takes a third of a millisecond of the thread that fuses to end one. Boards that are set up wrongly come
  // back a second later at the earliest.
  std::size_t fruitless_reports = 256;
  // In one second, of one peer: streams of reflection, on however many connections.
  std::size_t reflections = 100;
  // In one second, of one peer: requests about learning that are too large or do not parse, and models that
  // are not taken in, on however many connections. Reading one of two megabytes takes a millisecond of the
  // thread that fuses.
  std::size_t malformed = 8;
  // In one second, of one peer, on however many connections: headers of which no call comes. gRPC answers
  // these by itself, in 15 µs each. Calls that are on their way to threads that give way count, too, until
  // they begin: a peer may have half of all. Calls that a role does not allow have a limit of their own.
  std::size_t fruitless_headers = 2'000;
  // One that reports has made its calls: it is cut for these only if it has sent so many itself.
  std::size_t fruitless_of_report() const { return fruitless_headers / 16; }
  // In one second, of one connection: messages of reports that bring no frame. A node says what it is once a
  // second.
  std::size_t empty_messages = 100;
  // In one second, of one connection: calls that the peer has reset. Its streams may all end at once.
  std::size_t resets = 512;
  // Report streams without a hello among them: gRPC's threads open them faster than one thread takes them in,
  // and what waits in between, 13 kB each, is not counted.
  std::size_t report_resets = 128;
  // Bytes that a connection may send before something is heard of it: several large messages at a time.
  std::uint64_t unheard_bytes = 4 << 20;
  // As many more at each look, four times a second: a connection that waits sends a ping of 39 bytes every
  // other second.
  std::uint64_t unheard_bytes_per_look = 16;
  // As many more for each message to a watcher. It answers with window updates of the stream and of the
  // connection: 13 bytes each, and with TLS 22 more for the record of each.
  std::uint64_t unheard_bytes_per_sent = 72;
  // No more of these answers are still expected: not all that a watcher could have answered in a week.
  std::uint64_t late_answers = 640 << 10;
  // What the threads that fuse may spend on a connection's bytes beyond what its calls and messages, messages
  // to it, its bytes and the time pay for: two to five times what these take on a server's processor (4 µs a
  // frame, 57 a call, 20 a slot to a watcher, 0.8 ns a byte). More would buy an attacker's other bytes. All
  // connections of a peer together may cost no more: they are read in turns.
  std::chrono::nanoseconds unpaid = std::chrono::milliseconds(40);
  // What counts among them of one that reports, and of any other.
  std::chrono::nanoseconds notable() const { return unpaid / 16; }
  std::chrono::nanoseconds noticed() const { return unpaid / 80; }
  std::chrono::nanoseconds paid_by_call = std::chrono::microseconds(150);
  std::chrono::nanoseconds paid_by_message = std::chrono::microseconds(15);
  std::chrono::nanoseconds paid_by_sent = std::chrono::microseconds(50);
  std::chrono::nanoseconds paid_by_byte{4};
  // A part of the time that passes; of a connection without reports a quarter of it. A node's status takes 30
  // to 130 µs each second, its ping as much every other second.
  int paid_by_time = 3'000;
  // A message that comes or goes alone wakes a thread, and its caches hold what others have used meanwhile:
  // to read it, or what answers it, takes ten times as long as one in a row. So much more is paid by each
  // message and call, as far as it is needed, but no more than a part of the time that passes; a quarter of
  // that for a connection that neither reports nor watches.
  std::chrono::nanoseconds paid_by_lone = std::chrono::microseconds(200);
  int lone_part = 16;
  int lone_part_of_peer = 7;  // for all connections of a peer
  std::chrono::nanoseconds most_paid_by_lone() const { return 20 * paid_by_lone; }  // at once
  // What they may spend on connections of one address that have not made a call, and on those that have gone
  // and left something unpaid, beyond what the time pays for and what a beginning or an end explains.
  std::chrono::nanoseconds silent_cost = std::chrono::milliseconds(40);
  int silent_paid_by_time = 200;  // a part of the time that passes, for all of an address
  // A beginning explains so much of what a connection costs until its first call, in its first seconds, and
  // an end so much of what it leaves: handshakes and ends of a fleet are no flood, however many.
  std::chrono::nanoseconds beginning() const { return begun * 5 / 2; }
  static constexpr std::int64_t kSecondsOfABeginning = 4;
  std::chrono::nanoseconds end() const { return noticed(); }
  // So much of what connections of an address leave is forgiven at once, and the time gives it back.
  std::chrono::nanoseconds ends() const { return silent_cost * 5 / 2; }
  int ends_by_time = 1'000;
  // A connection that has lasted earns as much of its end as a beginning costs, in 100 s: a fleet that has
  // worked for a while comes back at once, however large.
  int end_by_life = 100'000;  // a part of its life
  // No more has to be paid for by time: a minute.
  std::chrono::nanoseconds most_spent() const { return 8 * silent_cost; }
  // Once a connection makes a call, so much is forgiven to it, and so much at once to its address, to which
  // the time gives that back: handshakes of a fleet take as long.
  std::chrono::nanoseconds handshake() const { return unpaid / 4; }  // one with RSA of 4,096 bits takes 4 ms
  std::chrono::nanoseconds handshakes() const { return 240 * begun; }
  int forgiven_by_time = 200;  // a part of the time that passes, for all of an address
  int suspect_share = 2;       // of it, for an address that has flooded a short while ago
  // What one that has begun is taken to cost, until it has: a handshake.
  std::chrono::nanoseconds begun = std::chrono::milliseconds(1);
  // An address that has cost more, whatever explains it, comes in slowly.
  std::chrono::nanoseconds suspect_cost() const { return silent_cost / 8; }
  // In one second, of an address whose connections have to wait: those that hang up. More than five hundred
  // boards do, which wait for two seconds.
  std::size_t gave_up = 400;
  // Beyond this none of it begins until time has paid: who comes back again and again without a call comes in
  // as slowly as the time pays for.
  std::chrono::nanoseconds waiting_cost() const { return silent_cost / 4 * 3; }
  // There is no TLS: to begin costs little.
  void WithoutHandshakes() {
    begun /= 5;
    forgiven_by_time *= 5;
    end_by_life *= 5;
  }
  // The processor takes so many times as long as a server's: everybody may spend more of it.
  void Slow(double slowness) {
    for (std::chrono::nanoseconds* each : {&unpaid, &paid_by_call, &paid_by_message, &paid_by_sent,
                                           &paid_by_byte, &paid_by_lone, &silent_cost, &begun}) {
      *each =
          std::chrono::nanoseconds(static_cast<std::int64_t>(slowness * static_cast<double>(each->count())));
    }
    for (int* each : {&paid_by_time, &lone_part, &lone_part_of_peer, &silent_paid_by_time, &ends_by_time,
                      &forgiven_by_time, &end_by_life}) {
      *each = std::max(1, static_cast<int>(*each / slowness));
    }
  }
  // For the address of a connection that was cut for what it did.
  Quarantine::Limits quarantine = {};
};

}  // namespace tributary::server
