// What tests of quantised layers ask of a graph: in integers, and within one step of what the file says.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/quantised/qdq_fixture.h"
#include "core/graph/session.h"

namespace tributary::graph::testing {

inline constexpr ElementType kByteTypes[] = {ElementType::kInt8, ElementType::kUint8};

inline std::unique_ptr<Session> Opened(const ModelText& model, Arithmetic arithmetic) {
  auto session = Session::Load(model.Bytes(), {.arithmetic = arithmetic});
  EXPECT_TRUE(session.ok()) << session.status();
  return session.ok() ? *std::move(session) : nullptr;
}

struct Compared {
  std::int64_t elements = 0, different = 0;

  Compared& operator+=(const Compared& other) {
    elements += other.elements;
    different += other.different;
    return *this;
  }
};

// Runs both on the same bytes. Every byte of every output differs by one step at most.
inline Compared Compare(QdqModel& qdq, int runs = 3) {
  const auto integers = Opened(qdq.model(), Arithmetic::kIntegers),
             reference = Opened(qdq.model(), Arithmetic::kAsWritten);
  Compared compared;
  if (integers == nullptr || reference == nullptr) return compared;
  for (int run = 0; run < runs; ++run) {
    std::vector<Array> arrays;
    std::vector<View> views;
    for (const PortReport& input : integers->inputs()) arrays.push_back(qdq.Bytes(input.spec));
    for (const Array& array : arrays) views.push_back(array.view());
    EXPECT_TRUE(integers->Run(views).ok());
    EXPECT_TRUE(reference->Run(views).ok());
    for (std::size_t o = 0; o < reference->outputs().size(); ++o) {
      const bool is_signed = reference->outputs()[o].spec.type == ElementType::kInt8;
      const auto found = integers->output(o).As<std::uint8_t>(),
                 expected = reference->output(o).As<std::uint8_t>();
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const int difference =
            is_signed ? static_cast<std::int8_t>(found[i]) - static_cast<std::int8_t>(expected[i])
                      : found[i] - expected[i];
        EXPECT_LE(std::abs(difference), 1) << "element " << i << " of output " << o;
        if (std::abs(difference) > 1) return compared;
        ++compared.elements;
        compared.different += difference != 0 ? 1 : 0;
      }
    }
  }
  return compared;
}

// Whether every node of the plan is part of a layer.
inline void ExpectAllInIntegers(QdqModel& qdq) {
  const auto session = Opened(qdq.model(), Arithmetic::kIntegers);
  ASSERT_NE(session, nullptr);
  for (const NodeReport& node : session->nodes()) {
    EXPECT_EQ(node.arithmetic, "int8") << node.name << " (" << node.operation << "): " << node.why;
    EXPECT_NE(node.layer, "");
  }
}

inline std::string WhyOf(QdqModel& qdq, const std::string& operation) {
  const auto session = Opened(qdq.model(), Arithmetic::kIntegers);
  if (session == nullptr) return "";
  for (const NodeReport& node : session->nodes()) {
    if (node.operation == operation && node.arithmetic != "int8") return node.why;
  }
  return "computed in integers";
}

// A result of this many products of random bytes fills most of its range.
inline float FittingScale(std::int64_t depth, float input, float weight) {
  return std::sqrt(static_cast<float>(depth)) * 75 * 75 * input * weight / 60;
}

}  // namespace tributary::graph::testing
