#include "core/link/spool/reconnect.h"

#include "gtest/gtest.h"

namespace tributary::link {
namespace {

constexpr std::int64_t kMs = 1'000'000;

TEST(BackoffTest, DoublesWithJitterUpToTheCap) {
  Backoff backoff({100, 1000}, 1);
  for (const std::int64_t ceiling : {100, 200, 400, 800, 1000, 1000, 1000}) {
    const std::int64_t delay = backoff.Next();
    EXPECT_GE(delay, ceiling / 2);
    EXPECT_LE(delay, ceiling);
  }
}

TEST(BackoffTest, StartsAgainAfterASuccess) {
  Backoff backoff({100, 1'000'000}, 1);
  for (int i = 0; i < 10; ++i) backoff.Next();
  backoff.Reset();
  EXPECT_LE(backoff.Next(), 100);
}

TEST(BackoffTest, NeverOverflows) {
  Backoff backoff({1'000'000'000, INT64_MAX / 2}, 1);
  for (int i = 0; i < 200; ++i) EXPECT_GE(backoff.Next(), 500'000'000);
}

TEST(BackoffTest, SpreadsTheNodesOfASite) {
  Backoff a({1'000'000, 1'000'000}, 1);
  Backoff b({1'000'000, 1'000'000}, 2);
  EXPECT_NE(a.Next(), b.Next());
}

TEST(ReconnectTest, TriesALostLinkAgainWithinHalfASecond) {
  Reconnect reconnect(1);
  const absl::Status lost = absl::UnavailableError("gone");
  const std::int64_t first_ns = reconnect.DelayNs(lost);
  EXPECT_GE(first_ns, 10 * kMs);
  EXPECT_LE(first_ns, 20 * kMs);
  for (int attempt = 0; attempt < 20; ++attempt) EXPECT_LE(reconnect.DelayNs(lost), 400 * kMs);
  EXPECT_GE(reconnect.DelayNs(lost), 200 * kMs);
}

TEST(ReconnectTest, TriesARefusalAgainSlowly) {
  for (const absl::Status& refusal :
       {absl::InvalidArgumentError(""), absl::FailedPreconditionError(""), absl::PermissionDeniedError(""),
        absl::UnauthenticatedError(""), absl::UnimplementedError("")}) {
    EXPECT_TRUE(Reconnect::IsRefusal(refusal)) << refusal;
    EXPECT_FALSE(Reconnect::MayPass(refusal)) << refusal;
    EXPECT_GE(Reconnect(1).DelayNs(refusal), 500 * kMs) << refusal;
  }
}

TEST(ReconnectTest, ABusyPeerIsNoRefusalButIsTriedSlowly) {
  const absl::Status busy = absl::ResourceExhaustedError("too many streams");
  EXPECT_FALSE(Reconnect::IsRefusal(busy));
  EXPECT_GE(Reconnect(1).DelayNs(busy), 500 * kMs);
}

TEST(ReconnectTest, WhatIsNotThereYetIsNoRefusalButIsTriedSlowly) {
  const absl::Status unknown = absl::NotFoundError("no such run");
  EXPECT_FALSE(Reconnect::IsRefusal(unknown));
  EXPECT_FALSE(Reconnect::MayPass(unknown));
  EXPECT_GE(Reconnect(1).DelayNs(unknown), 500 * kMs);
}

TEST(ReconnectTest, StartsAnewOnceAStreamHasServed) {
  Reconnect reconnect(1);
  for (int attempt = 0; attempt < 20; ++attempt) reconnect.DelayNs(absl::UnavailableError("gone"));
  reconnect.Recovered();
  EXPECT_LE(reconnect.DelayNs(absl::UnavailableError("gone")), 20 * kMs);
}

}  // namespace
}  // namespace tributary::link
