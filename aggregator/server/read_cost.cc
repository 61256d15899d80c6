#include "aggregator/server/read_cost.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <deque>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "aggregator/server/read_turn.h"
#include "aggregator/server/work_time.h"
#include "core/runtime/mutex.h"

namespace tributary::server {
namespace {

struct Account {
  std::atomic<std::uint64_t> inode = 0;
  std::atomic<std::int64_t> processor_ns = 0;
  std::atomic<std::int64_t> ends_ns = 0;
  std::atomic<std::uint64_t> bytes = 0;
  std::atomic<std::uint64_t> headers = 0;
  std::atomic<std::size_t> message_bytes_left = 0;
  std::atomic<bool> long_header = false;
  std::atomic<bool> crowd = false;
  std::atomic<bool> long_handshake = false;
  std::atomic<bool> held = false;
  std::atomic<bool> waits = false;
  std::atomic<bool> speaks = false;
  std::atomic<ReadRank> rank = ReadRank::kOther;
};

// By descriptor. Pages that are never touched take no memory.
std::array<Account, 1 << 16> accounts;

Account* AccountOf(int fd) {
  return fd >= 0 && static_cast<std::size_t>(fd) < accounts.size() ? &accounts[static_cast<std::size_t>(fd)]
                                                                   : nullptr;
}

// Null: another connection has the descriptor.
Account* AccountOf(Socket socket) {
  Account* const account = AccountOf(socket.fd);
  return account != nullptr && account->inode == socket.inode ? account : nullptr;
}

// Connections whose descriptors others have now: floods of short ones cost as much as long ones.
class Ended {
 public:
  void Note(std::uint64_t inode, const ReadCost& cost) {
    const runtime::MutexLock lock(mutex_);
    costs_[inode] = cost;
  }
  void Add(std::uint64_t inode, std::chrono::nanoseconds processor) {
    const runtime::MutexLock lock(mutex_);
    if (const auto found = costs_.find(inode); found != costs_.end()) found->second.ends += processor;
  }
  std::optional<ReadCost> Find(std::uint64_t inode) const {
    const runtime::MutexLock lock(mutex_);
    const auto found = costs_.find(inode);
    return found == costs_.end() ? std::nullopt : std::optional(found->second);
  }
  void Forget() {
    const runtime::MutexLock lock(mutex_);
    costs_.clear();
  }

 private:
  mutable runtime::Mutex mutex_;
  std::unordered_map<std::uint64_t, ReadCost> costs_ GUARDED_BY(mutex_);
};

Ended& TheEnded() {
  static Ended ended;
  return ended;
}

std::atomic<bool> measured = false;

// Who is not read until the next AllowOtherReads or AllowHandshakes.
class Waiting {
 public:
  void Add(Socket socket, bool first) {
    const runtime::MutexLock lock(mutex_);
    (first ? first_ : others_).push_back(socket);
  }
  // Those who come first, and then others; of each those that have waited longest.
  std::vector<Socket> Take(std::size_t most_first, std::size_t most_others) {
    const runtime::MutexLock lock(mutex_);
    std::vector<Socket> taken;
    for (const auto& [queue, most] : {std::pair(&first_, most_first), std::pair(&others_, most_others)}) {
      const auto end = queue->begin() + static_cast<std::ptrdiff_t>(std::min(most, queue->size()));
      taken.insert(taken.end(), queue->begin(), end);
      queue->erase(queue->begin(), end);
    }
    return taken;
  }

 private:
  runtime::Mutex mutex_;
  std::deque<Socket> first_ GUARDED_BY(mutex_);
  std::deque<Socket> others_ GUARDED_BY(mutex_);
};

constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

// What the reads of others may still cost, and those of handshakes.
using Budget = std::atomic<std::int64_t>;
Budget others_ns = kUnlimited, handshakes_ns = kUnlimited;

Waiting& WaitingFor(const Budget& budget) {
  static Waiting others, handshakes;
  return &budget == &others_ns ? others : handshakes;
}

struct Reader {
  bool counts = false;
  Account* of = nullptr;     // whose bytes it parses; null: nobody's
  std::uint64_t inode = 0;   // of that connection
  Budget* budget = nullptr;  // which its reads cost; null: it does not wait
  bool ends = false;         // it ends, or a stream of it
  WorkTime time = {};
  ReadTurn turn = {};
};
thread_local Reader this_thread;

// Texts that are taken apart and put into a table: what parsing is like.
std::size_t SomeWork() {
  std::unordered_map<std::string, std::size_t> table;
  for (std::size_t i = 0; i < 5'000; ++i) ++table["header-" + std::to_string(i % 1'000)];
  return table.size();
}

constexpr double kWorkOfAServerNs = 200'000;

ReadCost CostIn(const Account& account) {
  return {.processor = std::chrono::nanoseconds(account.processor_ns),
          .ends = std::chrono::nanoseconds(account.ends_ns),
          .bytes = account.bytes,
          .headers = account.headers,
          .long_header = account.long_header,
          .crowd = account.crowd,
          .long_handshake = account.long_handshake};
}

Budget* BudgetOf(const Account& account) {
  if (account.rank >= ReadRank::kWatcher) return nullptr;
  return account.speaks ? &others_ns : &handshakes_ns;
}

// The descriptor may be none of the port's, or not any more.
bool IsOwn(const Account& account, int fd) { return account.inode == InodeOf(fd); }

// Whether it is not read until there is a budget again. Who would not be told then does not wait, nor who was
// cut before it spoke: it holds memory.
bool MustWait(Account& account, int fd) {
  const Budget* const budget = BudgetOf(account);
  if (budget == nullptr || budget->load(std::memory_order_relaxed) > 0) return false;
  if (!IsOwn(account, fd) || !IsTcp(fd)) return false;
  if (!HasBytes(fd) && !(account.speaks && PeerHasClosed(fd))) return false;
  // Panels that owe, and handshakes that have begun: what was done for these would be in vain.
  const bool first = account.rank != ReadRank::kOther || (!account.speaks && account.bytes > 0);
  if (!account.waits.exchange(true)) WaitingFor(*budget).Add({fd, account.inode}, first);
  return true;
}

// Whether nobody will make a call: it has hung up before its handshake was over, or sends more than one has.
// What has come is not read.
bool EndsBeforeItSpeaks(Account& account, int fd) {
  if (account.speaks || !IsOwn(account, fd) || !IsTcp(fd) || !HasBytes(fd)) return false;
  if (account.bytes < kMostOfAHandshake) return PeerHasClosed(fd);
  account.long_handshake = true;
  return true;
}

// Whoever waits for the connection is told, also if it has ended: a reset leaves nothing to read.
void GoOn(Socket socket) {
  if (!IsOpen(socket)) return;  // somebody else has the descriptor now
  CauseAnEvent(socket.fd);
  if (PeerHasClosed(socket.fd)) shutdown(socket.fd, SHUT_RD);
}

// With what it has used since the last time.
void Charge(Reader& reader) {
  if (reader.of == nullptr) return;
  const std::int64_t took_ns = reader.time.Take();
  if (reader.budget != nullptr) reader.budget->fetch_sub(took_ns);
  if (reader.of->inode == reader.inode) {
    (reader.ends ? reader.of->ends_ns : reader.of->processor_ns)
        .fetch_add(took_ns, std::memory_order_relaxed);
  } else {
    TheEnded().Add(reader.inode, std::chrono::nanoseconds(took_ns));  // it took the time to close it
  }
}

constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

void Tell(const std::vector<Socket>& waiting) {
  for (const Socket& each : waiting) {
    Account* const account = AccountOf(each);
    if (account != nullptr && account->waits.exchange(false)) GoOn(each);
  }
}

}  // namespace

void MeasureReads(bool measure) { measured.store(measure, std::memory_order_relaxed); }

void CountReads() { this_thread = {.counts = true}; }

void EndRead() {
  Charge(this_thread);
  this_thread.of = nullptr;
}

void BeginWait() {
  EndRead();
  this_thread.time.WaitsAreTold();
}

void BeginEnd(Socket socket) {
  Account* const account = AccountOf(socket);
  if (!this_thread.counts || account == nullptr || this_thread.of == account) return;
  Charge(this_thread);
  this_thread.ends = true;
  this_thread.of = account;
  this_thread.inode = socket.inode;
  this_thread.budget = BudgetOf(*account);
  this_thread.time.Begin();
}

void BeginReads(Socket socket) {
  Account* const account = AccountOf(socket.fd);
  if (account == nullptr) return;
  if (const ReadCost last = CostIn(*account); last.bytes > 0) TheEnded().Note(account->inode, last);
  account->processor_ns = 0;
  account->ends_ns = 0;
  account->bytes = 0;
  account->headers = 0;
  account->message_bytes_left = 0;
  account->long_header = false;
  account->crowd = false;
  account->long_handshake = false;
  account->held = false;
  account->waits = false;
  account->speaks = false;
  account->rank = ReadRank::kOther;
  account->inode = socket.inode;
}

void NoteFrames(Socket socket, std::uint64_t headers, std::size_t message_bytes_left) {
  Account* const account = AccountOf(socket);
  if (account == nullptr) return;
  account->headers.store(headers, std::memory_order_relaxed);
  account->message_bytes_left.store(message_bytes_left, std::memory_order_relaxed);
}

void NoteLongHeader(Socket socket) {
  if (Account* const account = AccountOf(socket); account != nullptr) account->long_header = true;
}

void NoteCrowd(Socket socket) {
  if (Account* const account = AccountOf(socket); account != nullptr) account->crowd = true;
}

void NoteSpeaking(Socket socket) {
  if (Account* const account = AccountOf(socket); account != nullptr) account->speaks = true;
}

void RankReads(Socket socket, ReadRank rank) {
  Account* const account = AccountOf(socket);
  if (account == nullptr) return;
  account->rank = rank;
  if (rank >= ReadRank::kWatcher && account->waits.exchange(false)) GoOn(socket);
}

void AllowOtherReads(std::chrono::nanoseconds most) {
  // To be told takes the thread that fuses 10 µs, also if it has to wait again.
  constexpr std::size_t kToldAtOnce = 32;
  others_ns = most.count();
  Tell(WaitingFor(others_ns).Take(kAll, most == std::chrono::nanoseconds::max() ? kAll : kToldAtOnce));
}

void AllowHandshakes(std::chrono::nanoseconds part) {
  constexpr std::int64_t kSavedNs = 2'000'000, kOneNs = 300'000;
  if (part == std::chrono::nanoseconds::max()) {
    handshakes_ns = kUnlimited;
    return Tell(WaitingFor(handshakes_ns).Take(kAll, kAll));
  }
  const std::int64_t more_ns = part.count(), most_ns = std::max(more_ns, kSavedNs);
  std::int64_t left_ns = handshakes_ns, now_ns = 0;
  do {
    now_ns = left_ns > most_ns - more_ns ? most_ns : left_ns + more_ns;
  } while (!handshakes_ns.compare_exchange_weak(left_ns, now_ns));
  if (now_ns <= 0) return;
  // No more than are paid for: the others would lose their place.
  const auto paid = static_cast<std::size_t>(1 + now_ns / kOneNs);
  const std::vector<Socket> first = WaitingFor(handshakes_ns).Take(paid, 0);
  Tell(first);
  Tell(WaitingFor(handshakes_ns).Take(0, paid - first.size()));
}

void HoldReads(Socket socket) {
  if (Account* const account = AccountOf(socket); account != nullptr && IsTcp(socket.fd))
    account->held = true;
}

void ReleaseReads(Socket socket) {
  Account* const account = AccountOf(socket);
  if (account == nullptr || !account->held.exchange(false)) return;
  GoOn(socket);  // also if Cut has told gRPC while it was held
}

std::optional<ReadCost> ReadCostOf(Socket socket) {
  const Account* const account = AccountOf(socket.fd);
  if (account == nullptr) return std::nullopt;
  return account->inode == socket.inode ? CostIn(*account) : TheEnded().Find(socket.inode);
}

void ForgetEnded() { TheEnded().Forget(); }

double ProcessorSlowness() {
  std::int64_t least_ns = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i < 5; ++i) {
    const std::int64_t begin_ns = ThreadProcessorNs();
    const volatile std::size_t kept = SomeWork();
    static_cast<void>(kept);
    least_ns = std::min(least_ns, ThreadProcessorNs() - begin_ns);
  }
  return std::clamp(static_cast<double>(least_ns) / kWorkOfAServerNs, 1.0, 100.0);
}

}  // namespace tributary::server

// In place of the C library's, in every program with this module.
extern "C" __attribute__((visibility("default"))) ssize_t recvmsg(int fd, msghdr* message, int flags) {
  using namespace tributary::server;  // NOLINT(google-build-using-namespace): this is one of its functions
  const auto read = [&] { return syscall(SYS_recvmsg, fd, message, flags); };
  if ((flags & MSG_ERRQUEUE) != 0) return read();
  Charge(this_thread);
  Account* const account = AccountOf(fd);
  // Other threads also read what is none of the gRPC port's.
  if (!this_thread.counts && (account == nullptr || account->inode != InodeOf(fd))) return read();
  const bool waits = account != nullptr && ((account->held && IsOwn(*account, fd)) || MustWait(*account, fd));
  if (waits || this_thread.turn.IsOver(fd)) {
    errno = EAGAIN;
    return -1;  // and what was read is parsed now
  }
  this_thread.of = nullptr;
  if (account == nullptr) return read();
  if (EndsBeforeItSpeaks(*account, fd)) return 0;
  const std::uint64_t before = account->bytes;
  std::size_t most = ReadTurn::Bytes(before, account->message_bytes_left, account->rank == ReadRank::kPanel);
  // What comes behind a handshake is read once it speaks.
  if (!account->speaks && before < kMostOfAHandshake)
    most = std::min<std::size_t>(most, kMostOfAHandshake - before);
  const ssize_t got = this_thread.turn.Read(fd, message, flags, most);
  if (got < 0 && errno == EAGAIN) return got;
  if (got > 0) account->bytes.fetch_add(static_cast<std::uint64_t>(got), std::memory_order_relaxed);
  if (!this_thread.counts) return got;
  Budget* budget = BudgetOf(*account);
  if (budget != nullptr && !IsOwn(*account, fd)) budget = nullptr;
  const bool measures = account->rank < ReadRank::kPanel || before < ReadTurn::kBeginning ||
                        measured.load(std::memory_order_relaxed);
  if (!measures) return got;
  // Its end costs, too, and many may end at once.
  this_thread.ends = got <= 0;
  this_thread.of = account;
  this_thread.inode = account->inode;
  this_thread.budget = budget;
  this_thread.time.Begin();
  return got;
}
