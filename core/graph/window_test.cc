#include "core/graph/window.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

namespace tributary::graph {
namespace {

using Visited = std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>>;

Visited ByTaps(const Window& window) {
  Visited visited;
  ForEachTap(window,
             [&](std::int64_t w, std::int64_t t, std::int64_t pixel) { visited.emplace(w, t, pixel); });
  return visited;
}

Visited ByRuns(const Window& window) {
  Visited visited;
  ForEachRun(window, [&](std::int64_t w, std::int64_t t, std::int64_t pixel, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      EXPECT_TRUE(visited.emplace(w + i, t, pixel + i * window.stride.back()).second);
    }
  });
  return visited;
}

TEST(WindowTest, RunsVisitWhatTapsVisit) {
  for (const std::int64_t size : {1, 2, 3, 5}) {
    for (const std::int64_t stride : {1, 2, 3}) {
      for (const std::int64_t dilation : {1, 2}) {
        for (const std::int64_t padding : {0, 1, 2}) {
          const std::int64_t reach = (size - 1) * dilation + 1;
          const std::int64_t windows = (7 + 2 * padding - reach) / stride + 1;
          if (padding >= reach || windows < 1) continue;
          const Window line{{size}, {stride}, {dilation}, {padding}, {padding}, {7}, {windows}};
          EXPECT_EQ(ByRuns(line), ByTaps(line));
          const Window plane{{2, size},    {1, stride}, {2, dilation}, {1, padding},
                             {1, padding}, {6, 7},      {6, windows}};
          EXPECT_EQ(ByRuns(plane), ByTaps(plane));
          const Window room{{2, 1, size},    {2, 1, stride}, {1, 1, dilation}, {1, 0, padding},
                            {0, 0, padding}, {3, 2, 7},      {2, 2, windows}};
          EXPECT_EQ(ByRuns(room), ByTaps(room));
        }
      }
    }
  }
}

}  // namespace
}  // namespace tributary::graph
