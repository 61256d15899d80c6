#include "core/learning/client_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>

namespace tributary::learning {
namespace {

using ::testing::HasSubstr;

v1::ClientSettings WithLocalSteps(std::uint32_t steps) {
  v1::ClientSettings settings = DefaultClientSettings();
  settings.set_local_steps(steps);
  return settings;
}

std::string Refusal(v1::ClientSettings settings, bool masked = false) {
  return std::string(AdoptFromTask(settings, masked).message());
}

// A field without a row would reach the trainer unchecked.
TEST(ClientSettingsTest, EveryFieldOfTheMessageHasOneRow) {
  std::multiset<int> rows = {v1::ClientSettings::kScheduleStepsFieldNumber,
                             ClipNormSetting().field->number()};
  for (const ClientSetting& setting : ClientSettingTable()) rows.insert(setting.field->number());
  std::multiset<int> fields;
  const google::protobuf::Descriptor& message = *v1::ClientSettings::descriptor();
  for (int i = 0; i < message.field_count(); ++i) fields.insert(message.field(i)->number());
  EXPECT_EQ(rows, fields);
}

TEST(ClientSettingsTest, ASettingOfAnotherWorkloadIsAFaultButNotInAStoredRun) {
  const std::string text = "[client]\nworkload = \"external\"\ntrainer = \"digits\"\nmethod = \"byol\"\n";
  const auto read = [&text](ClientLimits limits) {
    const auto file = *config::ConfigFile::Parse(text, "run");
    const v1::ClientSettings settings = ReadClientSettings(file.Root(), 1, limits);
    EXPECT_EQ(settings.trainer(), "digits");
    return std::string(file.Finish().message());
  };
  EXPECT_EQ(read(ClientLimits::kTraining),
            "run:4: client.method: only workload = \"self_supervised\" has it");
  EXPECT_EQ(read(ClientLimits::kStored), "");
}

TEST(ClientSettingsTest, ATrainerHasANameThatIsFitForALog) {
  v1::ClientSettings settings = DefaultClientSettings();
  settings.set_workload("external");
  settings.set_trainer("digits-2");
  EXPECT_EQ(Refusal(settings), "");
  for (const std::string& name : {std::string("a b"), std::string("\x1b[2J"), std::string(65, 'a')}) {
    settings.set_trainer(name);
    EXPECT_EQ(Refusal(settings), "settings.trainer must be at most 64 letters, digits, '-', '_' or '.'")
        << name;
  }
}

TEST(ClientSettingsTest, TheDefaultsAreWithinTheLimits) {
  EXPECT_TRUE(FaultsOf(DefaultClientSettings(), ClientLimits::kTraining).Result().ok());
  EXPECT_EQ(Refusal(DefaultClientSettings()), "");
}

TEST(ClientSettingsTest, ATaskIsRefusedWithTheFieldAndItsLimits) {
  EXPECT_EQ(Refusal(WithLocalSteps(0)), "settings.local_steps must be from 1 to 10000000, found 0");
  v1::ClientSettings settings = DefaultClientSettings();
  settings.set_learning_rate(std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(Refusal(settings), HasSubstr("settings.learning_rate must be from 0 to 100"));
  settings = DefaultClientSettings();
  settings.set_method("other");
  EXPECT_EQ(Refusal(settings), "settings.method must be simclr or simsiam or byol");
  settings = DefaultClientSettings();
  settings.set_encoding(static_cast<v1::UpdateEncoding>(99));
  EXPECT_THAT(Refusal(settings), HasSubstr("settings.encoding must be float32 or"));
}

TEST(ClientSettingsTest, Fixed32IsForMaskedTasksAlone) {
  v1::ClientSettings settings = DefaultClientSettings();
  EXPECT_THAT(Refusal(settings, true), HasSubstr("settings.encoding must be fixed32"));
  settings.set_encoding(v1::UPDATE_ENCODING_FIXED32);
  EXPECT_EQ(Refusal(settings, true), "");
  EXPECT_THAT(Refusal(settings, false), HasSubstr("settings.encoding"));
}

TEST(ClientSettingsTest, ATaskOfBeforeMeansTheEarlierDefaultsOfFieldsThatItLacks) {
  v1::ClientSettings settings = DefaultClientSettings();
  settings.clear_method();
  settings.clear_augmentation();
  ASSERT_TRUE(AdoptFromTask(settings, false).ok());
  EXPECT_EQ(settings.method(), "simsiam");
  EXPECT_EQ(settings.augmentation(), "continuous");
  settings.clear_workload();
  EXPECT_THAT(Refusal(settings), HasSubstr("settings.workload"));
}

TEST(ClientSettingsTest, ARunThatWasStoredBeforeKeepsTheDefaultsOfItsTime) {
  const auto file = config::ConfigFile::Parse("", "");
  const v1::ClientSettings earlier = ReadClientSettings(file->Root(), 0, ClientLimits::kStoredEarlier);
  EXPECT_EQ(earlier.method(), "simsiam");
  EXPECT_EQ(earlier.augmentation(), "continuous");
  const v1::ClientSettings stored = ReadClientSettings(file->Root(), 0, ClientLimits::kStored);
  EXPECT_EQ(stored.method(), "simclr");
  EXPECT_EQ(stored.augmentation(), "strong");
}

TEST(ClientSettingsTest, AFieldThatIsNotKnownHereIsDropped) {
  v1::ClientSettings settings;
  ASSERT_TRUE(settings.ParseFromString(DefaultClientSettings().SerializeAsString() + "\xf8\x7f\x01"));
  ASSERT_TRUE(AdoptFromTask(settings, false).ok());
  EXPECT_EQ(settings.SerializeAsString(), DefaultClientSettings().SerializeAsString());
}

}  // namespace
}  // namespace tributary::learning
