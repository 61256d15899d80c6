#include "core/link/journal/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/link/journal/power_cut_folder.h"

namespace tributary::link {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class JournalTest : public ::testing::Test {
 protected:
  void SetUp() override { Open(); }

  // As after a restart of the process.
  void Open(JournalIdentity identity = {'a'}) {
    journal_.reset();
    notes_.clear();
    auto opened = Journal::Open(std::make_unique<PowerCutFolder>(disk_), {identity, 4000, 400}, notes_);
    ASSERT_TRUE(opened.ok()) << opened.status();
    journal_ = *std::move(opened);
  }
  // Each of 100 bytes on the disk: three fill a segment.
  static std::string Text(int number) { return std::to_string(1000 + number) + std::string(84, '.'); }
  absl::Status Append(int number) {
    const std::string text = Text(number);
    const Record record{text, 2};
    return journal_->Append({&record, 1});
  }
  void AppendAll(int first, int end) {
    for (int number = first; number < end; ++number) ASSERT_TRUE(Append(number).ok());
  }
  std::vector<int> ReadAll() {
    std::vector<int> numbers;
    for (;;) {
      const auto record = journal_->Next();
      if (!record.ok()) {
        last_error_ = record.status();
        continue;
      }
      if (!*record) return numbers;
      numbers.push_back(std::stoi(std::string((*record)->payload.substr(0, 4))) - 1000);
    }
  }
  void ExpectBalance() const {
    const JournalCounters& counters = journal_->counters();
    EXPECT_EQ(counters.recovered_records + counters.appended_records,
              counters.done_records + counters.over_budget_records + counters.damaged_records +
                  counters.stored_records);
  }
  PowerCutDisk::File& File(std::uint64_t number) {
    return disk_.files().at(std::string(19, '0') + std::to_string(number) + ".spool");
  }

  PowerCutDisk disk_;
  std::vector<std::string> notes_;
  absl::Status last_error_;
  std::unique_ptr<Journal> journal_;
};

TEST_F(JournalTest, GivesTheOldestFirstAcrossSegments) {
  AppendAll(0, 7);
  EXPECT_EQ(disk_.files().size(), 3u);
  EXPECT_THAT(ReadAll(), ElementsAre(0, 1, 2, 3, 4, 5, 6));
  EXPECT_EQ(journal_->under_way(), 7u);
  ExpectBalance();
}

TEST_F(JournalTest, ReadsWhatIsAppendedWhileItReads) {
  AppendAll(0, 2);
  EXPECT_THAT(ReadAll(), ElementsAre(0, 1));
  AppendAll(2, 5);
  EXPECT_THAT(ReadAll(), ElementsAre(2, 3, 4));
}

TEST_F(JournalTest, RemovesASegmentWhoseRecordsAreDone) {
  AppendAll(0, 7);
  ReadAll();
  ASSERT_TRUE(journal_->Done(2).ok());
  EXPECT_EQ(disk_.files().size(), 3u);
  ASSERT_TRUE(journal_->Done(2).ok());
  EXPECT_EQ(disk_.files().size(), 2u);
  ASSERT_TRUE(journal_->Done(3).ok());
  EXPECT_THAT(disk_.files(), IsEmpty());
  EXPECT_EQ(journal_->counters().stored_bytes, 0u);
  EXPECT_EQ(journal_->counters().stored_units, 0u);
  AppendAll(7, 9);
  EXPECT_THAT(ReadAll(), ElementsAre(7, 8)) << "it goes on after it was empty";
  ExpectBalance();
}

TEST_F(JournalTest, ReadsAgainWhatIsNotDoneAfterARewind) {
  AppendAll(0, 5);
  ReadAll();
  ASSERT_TRUE(journal_->Done(2).ok());
  journal_->Rewind();
  EXPECT_THAT(ReadAll(), ElementsAre(2, 3, 4));
}

TEST_F(JournalTest, ContinuesAfterARestart) {
  AppendAll(0, 5);
  Open();
  EXPECT_EQ(journal_->counters().recovered_records, 5u);
  EXPECT_EQ(journal_->counters().recovered_units, 10u);
  AppendAll(5, 6);
  EXPECT_THAT(ReadAll(), ElementsAre(0, 1, 2, 3, 4, 5));
  ExpectBalance();
}

TEST_F(JournalTest, DropsAndCountsTheOldestOverItsBudget) {
  AppendAll(0, 60);
  const JournalCounters counters = journal_->counters();
  EXPECT_LE(counters.stored_bytes, 4000u);
  EXPECT_GT(counters.over_budget_records, 20u);
  EXPECT_EQ(counters.over_budget_units, 2 * counters.over_budget_records);
  const std::vector<int> left = ReadAll();
  EXPECT_EQ(left.front(), static_cast<int>(counters.over_budget_records));
  EXPECT_EQ(left.back(), 59);
  ExpectBalance();
}

TEST_F(JournalTest, CutsATornRecordAndCountsIt) {
  AppendAll(0, 2);
  File(0).bytes.resize(File(0).bytes.size() - 1);
  Open();
  EXPECT_THAT(ReadAll(), ElementsAre(0));
  EXPECT_EQ(journal_->counters().damaged_records, 1u);
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("at least 1 lost")));
  ExpectBalance();
  Open();
  EXPECT_EQ(journal_->counters().damaged_records, 0u) << "counted once";
}

TEST_F(JournalTest, KnowsHowManyRecordsADamagedSegmentHasLost) {
  AppendAll(0, 7);
  File(0).bytes[60] ^= 1;
  Open();
  EXPECT_THAT(ReadAll(), ElementsAre(3, 4, 5, 6));
  EXPECT_EQ(journal_->counters().damaged_records, 3u);
  ExpectBalance();
}

TEST_F(JournalTest, CountsWhatIsDamagedWhileItRuns) {
  AppendAll(0, 7);
  File(0).bytes[160] ^= 1;
  EXPECT_THAT(ReadAll(), ElementsAre(0, 3, 4, 5, 6));
  EXPECT_TRUE(absl::IsDataLoss(last_error_)) << last_error_;
  EXPECT_EQ(journal_->counters().damaged_records, 2u);
  ASSERT_TRUE(journal_->Done(5).ok());
  EXPECT_EQ(journal_->counters().stored_records, 0u);
  ExpectBalance();
}

TEST_F(JournalTest, CountsASegmentThatSomebodyHasDeleted) {
  AppendAll(0, 7);
  disk_.files().erase(disk_.files().begin());
  EXPECT_THAT(ReadAll(), ElementsAre(3, 4, 5, 6));
  EXPECT_EQ(journal_->counters().damaged_records, 3u);
}

TEST_F(JournalTest, SetsAsideWhatIsNotItsOwn) {
  AppendAll(0, 4);
  disk_.files()["notes.txt"].bytes = "keep me";
  File(0).bytes[8] = 9;
  const auto before = disk_.files().size();
  Open();
  EXPECT_EQ(journal_->counters().set_aside_files, 2u);
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("notes.txt is not a segment"), HasSubstr("version 9")));
  EXPECT_THAT(ReadAll(), ElementsAre(3));
  EXPECT_EQ(disk_.files().size(), before);
}

TEST_F(JournalTest, CountsTheRecordsBehindADamagedHeader) {
  AppendAll(0, 7);
  File(0).bytes[3] ^= 1;
  Open();
  EXPECT_THAT(ReadAll(), ElementsAre(3, 4, 5, 6));
  EXPECT_EQ(journal_->counters().set_aside_files, 1u);
  EXPECT_EQ(journal_->counters().damaged_records, 3u);
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("3 lost")));
  ExpectBalance();
}

TEST_F(JournalTest, KeepsTheFramesOfAnotherConfigurationForIt) {
  AppendAll(0, 2);
  Open({'b'});
  EXPECT_THAT(ReadAll(), IsEmpty());
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("restore that configuration")));
  AppendAll(10, 12);
  Open({'a'});
  EXPECT_THAT(ReadAll(), ElementsAre(0, 1));
  EXPECT_EQ(journal_->counters().set_aside_files, 1u);
}

TEST_F(JournalTest, LosesNothingThatItTookWhenTheDiskIsFull) {
  AppendAll(0, 2);
  disk_.FailWrites(absl::ResourceExhaustedError("disk is full"));
  EXPECT_TRUE(absl::IsResourceExhausted(Append(2)));
  disk_.FailWrites(absl::OkStatus());
  AppendAll(3, 5);
  EXPECT_THAT(ReadAll(), ElementsAre(0, 1, 3, 4));
  ExpectBalance();
}

TEST_F(JournalTest, RefusesABudgetBelowTwoSegments) {
  EXPECT_TRUE(absl::IsInvalidArgument(
      Journal::Open(std::make_unique<PowerCutFolder>(disk_), {{}, 700, 400}, notes_).status()));
}

// A process that appends, syncs, reads and finishes records, and ends after a random operation.
class JournalCrashTest : public ::testing::Test {
 protected:
  static constexpr int kPoints = 1000;

  // Lives until an operation fails. Records from `next_` on.
  void Live(Journal& journal, std::mt19937_64& random) {
    for (int step = 0; step < 60; ++step) {
      const std::string text = JournalText(next_);
      const Record record{text, 1};
      journal.Rewind();
      if (!journal.Append({&record, 1}).ok()) return;
      appended_.insert(next_++);
      if (random() % 4 == 0) {
        if (!journal.Sync().ok()) return;
        synced_ = appended_;
      }
      for (std::uint64_t reads = random() % 3; reads > 0; --reads) {
        const auto read = journal.Next();
        if (!read.ok()) return;
        if (!*read) break;
        const int number = std::stoi(std::string((*read)->payload));
        delivered_.insert(number);
        if (!journal.Done(1).ok()) return;
      }
    }
  }
  static std::string JournalText(int number) {
    return std::to_string(1'000'000 + number) + std::string(40, 'x');
  }

  // What a new process finds.
  std::set<int> Recover(PowerCutDisk& disk) {
    std::set<int> found;
    std::vector<std::string> notes;
    disk.EndAfter(UINT64_MAX);
    auto journal = Journal::Open(std::make_unique<PowerCutFolder>(disk), kOptions, notes);
    EXPECT_TRUE(journal.ok()) << journal.status();
    if (!journal.ok()) return found;
    for (int last = 0;;) {
      const auto record = (*journal)->Next();
      EXPECT_TRUE(record.ok()) << record.status();
      if (!record.ok() || !*record) break;
      const int number = std::stoi(std::string((*record)->payload)) - 1'000'000;
      EXPECT_EQ((*record)->payload, JournalText(number)) << "never a damaged one";
      EXPECT_GT(number, last) << "the oldest first, each once";
      last = number;
      found.insert(number);
    }
    EXPECT_EQ((*journal)->counters().set_aside_files, 0u);
    return found;
  }

  const JournalOptions kOptions{{'c'}, 1'000'000, 500};
  int next_ = 1;
  std::set<int> appended_;
  std::set<int> synced_;
  std::set<int> delivered_;
};

TEST_F(JournalCrashTest, AKilledProcessLosesNothingThatItAppended) {
  for (int point = 0; point < kPoints; ++point) {
    std::mt19937_64 random(static_cast<std::uint64_t>(point));
    PowerCutDisk disk;
    appended_.clear();
    delivered_.clear();
    next_ = 1;
    std::vector<std::string> notes;
    auto journal = Journal::Open(std::make_unique<PowerCutFolder>(disk), kOptions, notes);
    ASSERT_TRUE(journal.ok());
    disk.EndAfter(random() % 150);
    Live(**journal, random);
    const std::set<int> found = Recover(disk);
    for (const int number : appended_) {
      const bool delivered = delivered_.contains(number + 1'000'000);
      EXPECT_TRUE(delivered || found.contains(number)) << "point " << point << ", record " << number;
    }
  }
}

TEST_F(JournalCrashTest, APowerCutLosesNothingThatWasSynced) {
  for (int point = 0; point < kPoints; ++point) {
    std::mt19937_64 random(static_cast<std::uint64_t>(point) + 7777);
    PowerCutDisk disk;
    appended_.clear();
    synced_.clear();
    delivered_.clear();
    next_ = 1;
    std::vector<std::string> notes;
    auto journal = Journal::Open(std::make_unique<PowerCutFolder>(disk), kOptions, notes);
    ASSERT_TRUE(journal.ok());
    disk.EndAfter(random() % 150);
    Live(**journal, random);
    disk.CutPower(random);
    const std::set<int> found = Recover(disk);
    for (const int number : synced_) {
      const bool delivered = delivered_.contains(number + 1'000'000);
      EXPECT_TRUE(delivered || found.contains(number)) << "point " << point << ", record " << number;
    }
  }
}

}  // namespace
}  // namespace tributary::link
