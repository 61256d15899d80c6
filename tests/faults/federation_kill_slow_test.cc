// The whole of what federation_kill_test.cc shows in short.
#include "tests/faults/federation_small_run.h"

namespace tributary::testing {
namespace {

TEST(FederationKillSlowTest, TheAggregatorsDeathAtAHundredRandomPointsChangesNoBit) {
  ExpectTheQuietResultAfter(100);
}

}  // namespace
}  // namespace tributary::testing
