// `tributary conflate`: fuses estimates that stand in a file.
#pragma once

#include <istream>
#include <ostream>
#include <string>
#include <vector>

namespace tributary::cli {

struct ConflateOptions {
  enum class Method { kProduct, kIntersection };
  Method method = Method::kProduct;
  std::vector<double>
      prior;  // of the classes: in each categorical input, and once in the result; empty: uniform
};

// Reads lines of JSON until the end, groups them by (site, epoch, subject), wherever in the input they stand
// (all are held in memory), and writes one line per group, in the order of their first appearance. In and
// out:
//   {"site":"a","epoch":"1","subject":1,"source":"p1","mean":[x,y],"scale_tril":[l11,l21,l22]}
//   {"site":"a","epoch":"1","subject":1,"mean":[x,y],"scale_tril":[l11,l21,l22],"covariance":[[xx,xy],[xy,yy]],
//    "contributors":["p1","p2"]}
// or for classes, whose names are optional
//   {"site":"a","epoch":"1","subject":1,"source":"p1","log_probabilities":[a,b],"classes":["A","B"]}
//   {"site":"a","epoch":"1","subject":1,"log_probabilities":[a,b],"probabilities":[a,b],"classes":["A","B"],
//    "contributors":["p1","p2"]}
// with the contributors in alphabetical order; the covariance is the product of the factor and its transpose.
// Empty lines are skipped. A line that is not valid, whose source the group has already, or whose dimension
// or classes differ from the group's first is left out with a message on `error` that names line and field.
// Returns 0, or 65 (EX_DATAERR) if something was left out.
int RunConflate(std::istream& in, std::ostream& out, std::ostream& error, const ConflateOptions& options);

// Reads probabilities with commas between them, or says what is wrong.
std::string ReadPrior(const std::string& text, std::vector<double>& prior);

}  // namespace tributary::cli
