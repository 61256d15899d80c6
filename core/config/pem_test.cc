#include "core/config/pem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/config/tls.h"
#include "core/runtime/file.h"
#include "tests/support/own_folder.h"

namespace tributary::config {
namespace {

using ::testing::HasSubstr;

class PemTest : public ::testing::Test {
 protected:
  // A file of blank lines, which every reader of PEM passes over.
  static std::string Blank(const std::string& name, std::size_t bytes) {
    const std::string path = OwnFolder() + name;
    EXPECT_TRUE(runtime::WriteFileAtomically(path, std::string(bytes, '\n')).ok());
    return path;
  }
};

TEST_F(PemTest, ReadsAFileOfAMebibyteAndNoneThatIsLarger) {
  EXPECT_TRUE(ReadPem(Blank("fits.pem", kMostPemBytes)).ok());
  const std::string large = Blank("large.pem", kMostPemBytes + 1);
  const absl::Status status = ReadPem(large).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), large + ": is larger than the 1048576 bytes that a PEM file may have");
}

TEST_F(PemTest, ALargeFileIsAFaultOfCertificateKeyAuthorityAndList) {
  const std::string large = Blank("large.pem", kMostPemBytes + 1);
  const TlsFiles files{.certificate = large, .key = large, .ca = large, .crl = large};
  const std::string said(LoadTls(files, {}).status().message());
  std::size_t faults = 0;
  for (std::size_t at = 0; (at = said.find("is larger than", at)) != said.npos; ++at) ++faults;
  EXPECT_EQ(faults, 3u) << said;
  EXPECT_THAT(std::string(LoadRevocations(files, {}).status().message()), HasSubstr("is larger than"));
}

}  // namespace
}  // namespace tributary::config
