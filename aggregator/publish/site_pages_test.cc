// What HTTP answers about a site, and its events, without a server.
#include "aggregator/publish/site_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "aggregator/fusion/fusion_fixture.h"
#include "aggregator/publish/slot_events.h"
#include "core/runtime/clock.h"
#include "core/wire/hello.h"

namespace tributary::publish {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr const char* kStart = "5a";

class SitePagesTest : public fusion::FusionFixture {
 protected:
  SitePagesTest() {
    Start();
    hall_ = &state_.sites.Add(std::move(owned_), "", metrics_);
    site_.name = "attic";
    state_.sites.Add(*fusion::FusionEngine::Create(site_), "", metrics_);
  }

  static http::HttpRequest Asked(const std::string& target) { return *http::ParseHttpTarget(target); }
  http::HttpResponse Page(const std::string& rest) {
    http::HttpRequest request;
    request.rest = rest;
    return SitePage(state_, request);
  }
  json List(const std::string& query) {
    return json::parse(SitesPage(state_.sites, Asked("/api/v1/sites?" + query)).body);
  }
  // Fuses and publishes one slot of these x, 16 ms after the one before.
  void Publish(const std::vector<float>& means_x) {
    epoch_ += 32;
    SetTime(epoch_, 0);
    out_.Clear();
    OfferAll(Frame(epoch_, means_x));
    hall_->Publish(out_);
  }
  http::HttpAnswer Watch(const std::string& query, const std::string& last_event_id = "") {
    http::HttpRequest request = Asked("/api/v1/events?" + query);
    if (!last_event_id.empty()) request.headers["last-event-id"] = last_event_id;
    return WatchEvents(state_.sites, kStart, texts_, request);
  }
  static int StatusOf(const http::HttpAnswer& answer) {
    const auto* const response = std::get_if<http::HttpResponse>(&answer);
    return response == nullptr ? 200 : response->status;
  }
  static http::HttpEvent Next(http::HttpAnswer& answer) {
    return std::get<http::HttpEventStream>(answer).next().value_or(http::HttpEvent{"{}"});
  }
  static v1::Room Plan() {
    v1::Room room;
    room.set_site("hall");
    room.set_max_x_m(10);
    room.mutable_origin()->set_latitude_deg(55);
    room.mutable_origin()->set_longitude_deg(13);
    return room;
  }

  runtime::ManualClock clock_{0};
  runtime::Metrics metrics_;
  AggregatorState state_{.clock = clock_};
  Site* hall_ = nullptr;
  estimate::Epoch epoch_ = kEpoch;
  std::shared_ptr<SlotText> texts_ = std::make_shared<SlotText>();
};

TEST_F(SitePagesTest, SitesComeInPages) {
  EXPECT_EQ(List("")["sites"].size(), 2u);
  EXPECT_EQ(List("")["more"], false);
  const json first = List("limit=1");
  ASSERT_EQ(first["sites"].size(), 1u);
  EXPECT_EQ(first["sites"][0]["name"], "hall");
  EXPECT_EQ(first["more"], true);
  const json second = List("limit=1&after_site=hall");
  ASSERT_EQ(second["sites"].size(), 1u);
  EXPECT_EQ(second["sites"][0]["name"], "attic");
  EXPECT_EQ(second["more"], false);
  EXPECT_EQ(List("after_site=attic")["sites"].size(), 0u);
  EXPECT_EQ(SitesPage(state_.sites, Asked("/x?after_site=cellar")).status, 404);
  EXPECT_EQ(SitesPage(state_.sites, Asked("/x?limit=0")).status, 400);
}

TEST_F(SitePagesTest, APlanIsThereOnceTheConfigurationHasOne) {
  const http::HttpResponse none = Page("hall/room");
  EXPECT_EQ(none.status, 404);
  EXPECT_THAT(none.body, HasSubstr("[site.room]"));
  hall_->set_account({.room = Plan(), .truth = {}});
  const http::HttpResponse plan = Page("hall/room");
  EXPECT_EQ(plan.status, 200);
  EXPECT_EQ(json::parse(plan.body)["max_x_m"], 10);
  EXPECT_EQ(List("")["sites"][0]["has_room"], true);
  EXPECT_EQ(List("")["sites"][1]["has_room"], false);
  EXPECT_EQ(List("")["sites"][0]["has_truth"], false);
  hall_->set_account({});
  EXPECT_EQ(Page("hall/room").status, 404) << "a reload took it away";
}

TEST_F(SitePagesTest, SaysWithinWhichBandAConsistentSourceLies) {
  Publish({1, -1});
  for (const json& source : List("")["sites"][0]["sources"]) {
    const json& band = source["consistency_band"];
    EXPECT_EQ(band["tuples"], 2) << source;
    EXPECT_LT(band["low"], 1);
    EXPECT_GT(band["high"], 1);
  }
  site_.name = "band";
  site_.dimension = 0;
  site_.classes = {"a", "b"};
  state_.sites.Add(*fusion::FusionEngine::Create(site_), "", metrics_);
  for (const json& source : List("after_site=attic")["sites"][0]["sources"]) {
    EXPECT_FALSE(source.contains("consistency_band")) << "a surprise is no chi-square variable";
  }
}

TEST_F(SitePagesTest, SaysWhetherTheSourcesJudgeEachOther) {
  EXPECT_EQ(List("")["sites"][0]["calibration"], "CALIBRATION_MODE_OFF");
  fusion::FusionTuning tuning = site_.tuning;
  tuning.calibration.mode = fusion::CalibrationMode::kCorrect;
  ASSERT_TRUE(hall_->engine().Reconfigure(tuning).ok());
  EXPECT_EQ(List("")["sites"][0]["calibration"], "CALIBRATION_MODE_CORRECT");
  tuning.calibration.mode = fusion::CalibrationMode::kObserve;
  ASSERT_TRUE(hall_->engine().Reconfigure(tuning).ok());
  EXPECT_EQ(List("")["sites"][0]["calibration"], "CALIBRATION_MODE_OBSERVE");
  site_.name = "line";
  site_.dimension = 1;
  state_.sites.Add(*fusion::FusionEngine::Create(site_), "", metrics_);
  EXPECT_EQ(List("after_site=attic")["sites"][0]["calibration"], "CALIBRATION_MODE_UNSPECIFIED");
}

TEST_F(SitePagesTest, NamesThePagesOfASite) {
  EXPECT_EQ(Page("cellar").status, 404);
  EXPECT_EQ(Page("cellar/room").status, 404);
  EXPECT_EQ(Page("hall/").status, 404);
  EXPECT_EQ(Page("hall/room/").status, 404);
  EXPECT_THAT(Page("hall/plan").body, HasSubstr("room, flow, subjects.geojson and burst"));
  EXPECT_EQ(Page("hall").status, 204) << "no slot yet";
}

TEST_F(SitePagesTest, ASiteWithASlashInItsNameHasPages) {
  site_.name = "roof/west";
  state_.sites.Add(*fusion::FusionEngine::Create(site_), "", metrics_);
  EXPECT_EQ(Page("roof/west").status, 204);
  EXPECT_EQ(Page("roof/west/flow").status, 200);
}

TEST_F(SitePagesTest, PutsSubjectsOnTheMap) {
  EXPECT_THAT(Page("hall/subjects.geojson").body, HasSubstr("[site.room.origin]"));
  hall_->set_account({.room = Plan(), .truth = {}});
  EXPECT_EQ(Page("hall/subjects.geojson").status, 204);
  Publish({100, -100});
  const http::HttpResponse map = Page("hall/subjects.geojson");
  EXPECT_EQ(map.content_type, "application/geo+json");
  const json collection = json::parse(map.body);
  EXPECT_EQ(collection["type"], "FeatureCollection");
  ASSERT_EQ(collection["features"].size(), 2u);
  const json& east = collection["features"][0];
  EXPECT_EQ(east["geometry"]["type"], "Point");
  EXPECT_GT(east["geometry"]["coordinates"][0], 13.0015) << "longitude first; 1.56 per 100 m";
  EXPECT_LT(east["geometry"]["coordinates"][0], 13.0016);
  EXPECT_NEAR(east["geometry"]["coordinates"][1], 55, 1e-6);
  // Four sources of deviation 0.1 m.
  EXPECT_NEAR(east["properties"]["standard_deviation"]["major_m"], 0.05, 1e-6);
  EXPECT_NEAR(east["properties"]["standard_deviation"]["minor_m"], 0.05, 1e-6);
}

TEST_F(SitePagesTest, OnlyThePageOfBurstsHasParameters) {
  for (const char* page : {"hall", "hall/room", "hall/flow", "hall/subjects.geojson"}) {
    http::HttpRequest request = Asked("/x?subject=1");
    request.rest = page;
    EXPECT_EQ(SitePage(state_, request).status, 400) << page;
  }
}

TEST_F(SitePagesTest, MakesTheBurstsOfASimulation) {
  const auto ask = [this](const std::string& query) {
    http::HttpRequest request = Asked("/x?" + query);
    request.rest = "hall/burst";
    return SitePage(state_, request);
  };
  EXPECT_EQ(ask("subject=1").status, 404);
  EXPECT_THAT(ask("subject=1").body, HasSubstr("Nodes send no samples"));
  hall_->set_account(
      {.room = {}, .truth = {}, .bursts = *truth::SimulatedBursts("generator:seed=1,rate_hz=2000")});
  EXPECT_EQ(ask("subject=1").status, 204) << "no slot yet";
  Publish({1});
  const json latest = json::parse(ask("subject=3&receiver=2").body);
  EXPECT_EQ(latest["epoch"], std::to_string(epoch_));
  EXPECT_EQ(latest["receiver"], 2);
  EXPECT_EQ(latest["in_phase"].size(), 128u);
  EXPECT_EQ(latest["quadrature"].size(), 128u);
  double power = 0;
  for (const char* part : {"in_phase", "quadrature"}) {
    for (const double each : latest[part]) power += each * each;
  }
  EXPECT_NEAR(power / 128, 1, 1e-5);
  EXPECT_EQ(json::parse(ask("subject=3&receiver=2&epoch=" + std::to_string(epoch_)).body), latest);
  EXPECT_NE(json::parse(ask("subject=3&receiver=1").body)["in_phase"], latest["in_phase"]);
  for (const char* wrong : {"subject=-1", "subject=4294967296", "subject=x", "receiver=65536", "epoch=1e9",
                            "epoch=18446744073709551615"}) {
    EXPECT_EQ(ask(wrong).status, 400) << wrong;
  }
  EXPECT_EQ(ask("subject=4294967295&receiver=65535&epoch=9223372036854775807").status, 200);
}

TEST_F(SitePagesTest, EveryFrameAndTupleIsInOneEntryOfTheFlow) {
  v1::Hello hello;
  hello.set_site("hall");
  hello.set_node("board");
  wire::AddSource(hello, "north", 2, {"north"});
  const auto membership = state_.fleet.Join(hello);
  ASSERT_TRUE(membership.ok());
  v1::NodeStatus status;
  status.set_held_frames(5);
  membership->record->TakeStatus(status, 1);
  membership->record->dropped_frames = 2;
  Publish({1, 2});                               // four frames, eight tuples
  Offer("north", Frame(epoch_, {1}));            // a duplicate
  Offer("north", Frame(epoch_ + 1, {1, 2, 3}));  // waits
  hall_->CountRefusedOnWire(v1::REFUSAL_REASON_SHAPE);
  const json flow = json::parse(Page("hall/flow").body);
  const auto count = [&flow](const std::string& account, const std::string& place,
                             const std::string& reason) {
    for (const json& entry : flow[account]["entries"]) {
      if (entry["place"] == place && entry["reason"] == reason)
        return std::stoi(entry["count"].get<std::string>());
    }
    return -1;
  };
  EXPECT_EQ(count("frames", "taken", ""), 5);
  EXPECT_EQ(count("frames", "refused", "duplicate"), 1);
  EXPECT_EQ(count("frames", "refused", "shape"), 1);
  EXPECT_EQ(count("frames", "dropped by nodes", ""), 2);
  EXPECT_EQ(count("frames", "under way", ""), 5);
  EXPECT_EQ(flow["frames"]["total"], "14");
  EXPECT_EQ(count("tuples", "fused", ""), 8);
  EXPECT_EQ(count("tuples", "waiting", ""), 3);
  EXPECT_EQ(flow["tuples"]["total"], "11");
  EXPECT_EQ(flow["frames"]["entries"][1]["metric"], "tributary_frames_refused_total{reason=\"duplicate\"}");
}

TEST_F(SitePagesTest, AReaderThatComesBackIsToldWhatItMissed) {
  Publish({1});
  auto first = Watch("site=hall");
  const http::HttpEvent seen = Next(first);
  EXPECT_EQ(seen.id, "5a-1");
  Publish({1});
  Publish({1});
  Publish({1});
  auto back = Watch("site=hall", seen.id);
  const http::HttpEvent next = Next(back);
  EXPECT_EQ(json::parse(next.data)["skipped_slots"], "2");
  EXPECT_EQ(next.id, "5a-4");
  auto present = Watch("site=hall", next.id);
  EXPECT_FALSE(std::get<http::HttpEventStream>(present).next().has_value()) << "it has seen the latest";
}

TEST_F(SitePagesTest, AnIdThatIsNotOfThisProcessBeginsAtThePresent) {
  Publish({1});
  Publish({1});
  for (const char* id :
       {"77-1", "5a-99999", "5a-", "5a--1", "5a-1x", "1", "5a-99999999999999999999999", "5a"}) {
    auto back = Watch("site=hall", id);
    EXPECT_EQ(json::parse(Next(back).data)["skipped_slots"], "0") << id;
  }
}

TEST_F(SitePagesTest, EventsCarryWhatIsAskedFor) {
  truth::Truth walk = [](std::uint32_t subject, estimate::Epoch, estimate::SlotLength) -> truth::TrueState {
    if (subject == 2) return {};
    return truth::PlanePosition{7, 8};
  };
  EXPECT_EQ(StatusOf(Watch("site=hall&truth=true")), 400) << "nobody knows it";
  hall_->set_account({.room = {}, .truth = walk});
  EXPECT_EQ(List("")["sites"][0]["has_truth"], true);
  auto events = Watch("site=hall&truth=true&subjects=1,2&contributions=1");
  Publish({1, 2, 3});
  const json event = json::parse(Next(events).data);
  EXPECT_EQ(event["slot"]["subjects"], json({1, 2}));
  EXPECT_EQ(event["truth"]["positions"], json({7, 8, "NaN", "NaN"}));
  EXPECT_EQ(event["contributions"]["subject"], 1);
  EXPECT_EQ(event["contributions"]["contributions"].size(), 4u);
  auto plain = Watch("site=hall");
  EXPECT_FALSE(json::parse(Next(plain).data).contains("truth"));
}

TEST_F(SitePagesTest, ReadersOfWholeSlotsShareOneTextAndOthersHaveTheirs) {
  std::vector<http::HttpAnswer> readers;
  for (int i = 0; i < 10; ++i) readers.push_back(Watch("site=hall"));
  http::HttpAnswer one_subject = Watch("site=hall&subjects=1");
  for (float x = 1; x <= 3; ++x) {
    Publish({x, x});
    const http::HttpEvent first = Next(readers.front());
    EXPECT_EQ(json::parse(first.data)["slot"]["means"][0], x);
    for (std::size_t i = 1; i < readers.size(); ++i) EXPECT_EQ(Next(readers[i]).data, first.data);
    EXPECT_EQ(json::parse(Next(one_subject).data)["slot"]["subjects"].size(), 1u);
  }
  EXPECT_EQ(texts_->printed(), 3u);
}

TEST_F(SitePagesTest, RefusesWhatAReaderCannotHave) {
  for (const char* query : {"site=hall&subjects=a", "site=hall&contributions=-1", "site=hall&truth=maybe",
                            "site=hall&rate_hz=51"}) {
    EXPECT_EQ(StatusOf(Watch(query)), 400) << query;
  }
  EXPECT_EQ(StatusOf(Watch("site=cellar")), 404);
  EXPECT_EQ(StatusOf(Watch("")), 404) << "there are two";
  std::vector<http::HttpAnswer> readers;
  for (std::size_t i = 0; i < fusion::FusionEngine::kMaxReaders; ++i) {
    readers.push_back(Watch("site=hall&contributions=1"));
  }
  EXPECT_EQ(StatusOf(Watch("site=hall&contributions=1")), 503);
  readers.clear();
  EXPECT_EQ(StatusOf(Watch("site=hall&contributions=1")), 200);
}

}  // namespace
}  // namespace tributary::publish
