#include "core/wire/peer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::wire {
namespace {

using ::testing::HasSubstr;

std::string TextOf(const std::string& grpc_message) {
  return std::string(PeerStatus(grpc::Status(grpc::StatusCode::UNAVAILABLE, grpc_message)).message());
}

// Messages of gRPC 1.51 with OpenSSL 3.0.
constexpr const char* kPrefix =
    "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:7400: Ssl handshake failed: "
    "SSL_ERROR_SSL: ";

TEST(PeerStatusTest, SaysWhatToDoAboutACaThatDidNotSign) {
  for (const char* error : {"error:0D0C0006:asn1 encoding routines::EVP lib",
                            "error:0A000086:SSL routines::certificate verify failed"}) {
    EXPECT_THAT(TextOf(kPrefix + std::string(error)), HasSubstr("is not signed by the CA in the ca file"));
  }
}

TEST(PeerStatusTest, SaysWhichCertificateMayBeUsedForWhat) {
  const std::string text =
      TextOf(kPrefix + std::string("error:0A000086:SSL routines::certificate verify failed"));
  EXPECT_THAT(text, HasSubstr("an aggregator takes one of `tributary certs --server`"));
}

TEST(PeerStatusTest, SaysThatThePeerHasNoTls) {
  EXPECT_THAT(TextOf(kPrefix + std::string("error:0A00010B:SSL routines::wrong version number")),
              HasSubstr("no TLS at that address"));
}

TEST(PeerStatusTest, SaysThatAnHttpPortIsNoGrpcPort) {
  EXPECT_THAT(
      TextOf("failed to connect to all addresses; last error: INTERNAL: ipv4:127.0.0.1:7480: Trying to "
             "connect an http1.x server"),
      HasSubstr("HTTP is served there, not gRPC"));
}

TEST(PeerStatusTest, SaysThatAnHttpsPortIsNoGrpcPort) {
  EXPECT_THAT(
      TextOf(
          "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:7480: Cannot check peer: "
          "missing selected ALPN property."),
      HasSubstr("perhaps HTTPS: give the aggregator's `listen`"));
}

TEST(PeerStatusTest, SaysThatThereIsNoSuchHost) {
  EXPECT_EQ(
      HandshakeAdvice("DNS resolution failed for nohost:7400: C-ares status is not ARES_SUCCESS qtype=AAAA "
                      "name=nohost is_balancer=0: Domain name not found"),
      "no such host: check the name, or give an address");
}

TEST(PeerStatusTest, SaysThatNobodyAnswers) {
  const std::string failed = "failed to connect to all addresses; last error: UNKNOWN: ipv4:192.0.2.1:7400: ";
  for (const char* words :
       {"tcp handshaker shutdown", "Failed to connect to remote host: FD Shutdown", "Connection timed out"}) {
    EXPECT_THAT(TextOf(failed + words), HasSubstr("no answer: check the address and the network"));
  }
  for (const char* words :
       {"connection attempt timed out before receiving SETTINGS frame", "Handshake read failed"}) {
    EXPECT_THAT(TextOf(failed + words), HasSubstr("connected, but no answer came"));
  }
  EXPECT_THAT(TextOf("keepalive watchdog timeout"), HasSubstr("has gone silent"));
}

TEST(PeerStatusTest, SaysThatNobodyListens) {
  EXPECT_EQ(
      TextOf(
          "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:7400: Failed to connect "
          "to remote host: Connection refused"),
      kNobodyListens);
  EXPECT_THAT(
      TextOf("failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.9:7400: No route to host"),
      HasSubstr("No route to host"));
}

TEST(PeerStatusTest, SaysWhatToDoAboutACertificateOfAnotherAddress) {
  EXPECT_THAT(
      TextOf("failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.1:7400: Peer name "
             "10.0.0.1 is not in peer certificate"),
      HasSubstr("use the name on the certificate, or make one that holds the address: tributary certs "
                "--server NAME=ADDRESS"));
}

TEST(PeerStatusTest, NamesAHandshakeThatFailedForAnotherReason) {
  EXPECT_THAT(TextOf(kPrefix + std::string("error:0A000410:SSL routines::sslv3 alert handshake failure")),
              HasSubstr("check certificate, key and ca on both sides"));
}

TEST(PeerStatusTest, KeepsCodeAndOtherWords) {
  const absl::Status status = PeerStatus(grpc::Status(grpc::StatusCode::NOT_FOUND, "no \x1b site"));
  EXPECT_EQ(status, absl::NotFoundError("no \\x1b site"));
}

TEST(ToGrpcStatusTest, CutsALongMessageBetweenCharacters) {
  for (const std::string prefix : {"", "a", "aa", "aaa"}) {
    std::string text = prefix;
    while (text.size() < 3'000) text += "ä";  // sent as six bytes each
    const std::string sent = ToGrpcStatus(absl::InvalidArgumentError(text)).error_message();
    EXPECT_THAT(sent, ::testing::EndsWith("ä…"));
    EXPECT_THAT(sent.size(), ::testing::AllOf(::testing::Gt(1350u), ::testing::Le(1370u)));
    EXPECT_EQ(sent.substr(0, sent.size() - 3), text.substr(0, sent.size() - 3));
  }
}

TEST(ToGrpcStatusTest, KeepsAMessageOfFourKilobytes) {
  const std::string fits(4096, 'x');
  EXPECT_EQ(ToGrpcStatus(absl::InvalidArgumentError(fits)).error_message(), fits);
  EXPECT_EQ(ToGrpcStatus(absl::InvalidArgumentError(fits + "x")).error_message(),
            std::string(4087, 'x') + "…");
}

}  // namespace
}  // namespace tributary::wire
