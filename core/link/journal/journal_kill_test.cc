// A journal on a real disk whose process is killed a thousand times, each time at another moment.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/link/journal/journal.h"
#include "tests/support/own_folder.h"

namespace tributary::link {
namespace {

constexpr int kKills = 1000;
constexpr int kMostNumbers = 4'000'000;
constexpr int kFirstNumber = 1'000'000;  // all have as many digits

// What the process says while it lives; it survives the process.
struct SharedNotes {
  std::atomic<int> appended = 0;
  std::atomic<bool> failed = false;
  std::atomic<bool> over_budget = false;
  std::array<std::atomic<bool>, kMostNumbers> delivered = {};
};

class JournalKillTest : public ::testing::Test {
 protected:
  JournalKillTest() {
    void* const memory =
        mmap(nullptr, sizeof(SharedNotes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(memory, MAP_FAILED);
    notes_ = new (memory) SharedNotes;
  }
  ~JournalKillTest() override { munmap(notes_, sizeof(SharedNotes)); }

  std::unique_ptr<Journal> OpenJournal() const {
    std::vector<std::string> said;
    auto folder = OpenJournalFolder(folder_);
    if (!folder.ok()) return nullptr;
    auto journal = Journal::Open(*std::move(folder), {{'k'}, 1 << 22, 4000}, said);
    return journal.ok() ? *std::move(journal) : nullptr;
  }

  // Appends, syncs, reads and finishes records until it is killed.
  [[noreturn]] void Live(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const std::unique_ptr<Journal> journal = OpenJournal();
    while (journal != nullptr && notes_->appended + 1 < kMostNumbers) {
      const int number = notes_->appended + 1;
      const std::string text = std::to_string(kFirstNumber + number) + std::string(random() % 200, 'x');
      const Record record{text, 1};
      journal->Rewind();
      if (!journal->Append({&record, 1}).ok()) break;
      notes_->appended = number;
      if (journal->counters().over_budget_records > 0) notes_->over_budget = true;
      if (random() % 16 == 0 && !journal->Sync().ok()) break;
      // A life reads what the one before had begun again, so that it must read faster than it appends.
      for (std::uint64_t reads = random() % 4; reads > 0; --reads) {
        const auto read = journal->Next();
        if (!read.ok()) _exit(Fail());
        if (!*read) break;
        const int oldest = std::stoi(std::string((*read)->payload.substr(0, 7))) - kFirstNumber;
        notes_->delivered[static_cast<std::size_t>(oldest)] = true;
        if (!journal->Done(1).ok()) _exit(Fail());
      }
    }
    _exit(Fail());
  }
  int Fail() {
    notes_->failed = true;
    return 1;
  }

  const std::string folder_ = OwnFolder() + "journal_kill_test";
  SharedNotes* notes_ = nullptr;
};

TEST_F(JournalKillTest, AThousandKillsLoseNothingThatWasAppended) {
  std::mt19937_64 random(1);
  std::vector<bool> found;
  int checked = 1;  // all before it are delivered
  for (int kill_number = 0; kill_number < kKills; ++kill_number) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) Live(random());
    // Every other process is killed at its work, however busy the machine is; the others also as they begin.
    const int before = notes_->appended;
    while (kill_number % 2 == 1 && notes_->appended == before && !notes_->failed) usleep(50);
    usleep(static_cast<useconds_t>(random() % 4000));
    ASSERT_EQ(kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_FALSE(notes_->failed) << "kill " << kill_number;

    const std::unique_ptr<Journal> journal = OpenJournal();
    ASSERT_NE(journal, nullptr) << "kill " << kill_number;
    found.assign(static_cast<std::size_t>(notes_->appended) + 2, false);
    for (int last = 0;;) {
      const auto record = journal->Next();
      ASSERT_TRUE(record.ok()) << record.status();
      if (!*record) break;
      const int number = std::stoi(std::string((*record)->payload.substr(0, 7))) - kFirstNumber;
      ASSERT_GT(number, last) << "the oldest first, each once";
      ASSERT_LT(number, static_cast<int>(found.size())) << "what nobody appended";
      found[static_cast<std::size_t>(number)] = true;
      last = number;
    }
    ASSERT_FALSE(notes_->over_budget) << "the journal may drop its oldest, and this test cannot know them";
    // What was appended and not counted because of the kill is there for the next life.
    if (found.back()) ++notes_->appended;
    for (; checked < notes_->appended && notes_->delivered[static_cast<std::size_t>(checked)]; ++checked) {
    }
    for (int number = checked; number <= notes_->appended; ++number) {
      ASSERT_TRUE(notes_->delivered[static_cast<std::size_t>(number)] ||
                  found[static_cast<std::size_t>(number)])
          << "kill " << kill_number << ": record " << number << " is lost";
    }
  }
  EXPECT_GE(notes_->appended, kKills / 2);
}

}  // namespace
}  // namespace tributary::link
