#include "cli/offline/conflate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cli/commands.h"

namespace tributary::cli {
namespace {

using ::testing::HasSubstr;

class ConflateCommandTest : public ::testing::Test {
 protected:
  static std::string Line(const std::string& source, double x, int subject = 1, int epoch = 1) {
    std::ostringstream line;
    line << R"({"site":"a","epoch":)" << epoch << R"(,"subject":)" << subject << R"(,"source":")" << source
         << R"(","mean":[)" << x << R"(,0],"scale_tril":[2,0,1]})" << '\n';
    return line.str();
  }

  int Run(const std::string& input) {
    std::istringstream in(input);
    std::ostringstream out, error;
    const int code = RunConflate(in, out, error, options_);
    error_ = error.str();
    results_.clear();
    std::istringstream lines(out.str());
    for (std::string line; std::getline(lines, line);) results_.push_back(nlohmann::json::parse(line));
    return code;
  }

  ConflateOptions options_;
  std::vector<nlohmann::json> results_;
  std::string error_;
};

TEST_F(ConflateCommandTest, FusesTheSourcesOfASubject) {
  EXPECT_EQ(Run(Line("p2", 1) + Line("p1", 3)), 0);
  ASSERT_EQ(results_.size(), 1u);
  EXPECT_EQ(results_[0]["site"], "a");
  EXPECT_EQ(results_[0]["epoch"], "1");
  EXPECT_EQ(results_[0]["subject"], 1);
  EXPECT_NEAR(results_[0]["mean"][0].get<double>(), 2, 1e-12);
  EXPECT_NEAR(results_[0]["covariance"][0][0].get<double>(), 2, 1e-12);
  EXPECT_NEAR(results_[0]["covariance"][1][1].get<double>(), 0.5, 1e-12);
  EXPECT_NEAR(results_[0]["scale_tril"][0].get<double>(), std::sqrt(2), 1e-12);
  EXPECT_NEAR(results_[0]["scale_tril"][2].get<double>(), std::sqrt(0.5), 1e-12);
  EXPECT_EQ(results_[0]["contributors"], nlohmann::json({"p1", "p2"}));
}

TEST_F(ConflateCommandTest, PrintsNoTerminalCodeOfASite) {
  const std::string line =
      R"({"site":"\u001b[31m","epoch":1,"subject":1,"source":"p","mean":[1],"scale_tril":[1]})";
  EXPECT_EQ(Run(line + '\n' + line + '\n'), 65);
  EXPECT_EQ(error_.find('\x1b'), std::string::npos) << error_;
}

// An epoch is a 64-bit integer, which JSON gives back as a string; a person writes a number.
TEST_F(ConflateCommandTest, TakesAnEpochAsAStringOrANumber) {
  const std::string rest = R"(,"subject":1,"mean":[1],"scale_tril":[1],"source":)";
  EXPECT_EQ(Run(R"({"site":"a","epoch":18446744073709551615)" + rest + "\"p1\"}\n" +
                R"({"site":"a","epoch":"18446744073709551615")" + rest + "\"p2\"}\n"),
            0);
  ASSERT_EQ(results_.size(), 1u);
  EXPECT_EQ(results_[0]["epoch"], "18446744073709551615");
  for (const char* no : {"\"\"", "\" 1\"", "\"-1\"", "\"1x\"", "\"18446744073709551616\"", "1.5"}) {
    EXPECT_EQ(Run(std::string(R"({"site":"a","epoch":)") + no + rest + "\"p\"}"), 65) << no;
    EXPECT_THAT(error_, HasSubstr("field 'epoch' must be an integer")) << no;
  }
}

TEST_F(ConflateCommandTest, IntersectsIfToldTo) {
  options_.method = ConflateOptions::Method::kIntersection;
  EXPECT_EQ(Run(Line("p1", 2) + Line("p2", 2)), 0);
  EXPECT_NEAR(results_[0]["covariance"][0][0].get<double>(), 4, 1e-9);
}

TEST_F(ConflateCommandTest, KeepsTheOrderOfFirstAppearance) {
  EXPECT_EQ(Run(Line("p1", 0, 7) + Line("p1", 0, 3) + "\n" + Line("p1", 0, 3, 0) + Line("p2", 0, 7)), 0);
  ASSERT_EQ(results_.size(), 3u);
  EXPECT_EQ(results_[0]["subject"], 7);
  EXPECT_EQ(results_[1]["subject"], 3);
  EXPECT_EQ(results_[2]["epoch"], "0");
}

TEST_F(ConflateCommandTest, WorksInOneAndThreeDimensions) {
  EXPECT_EQ(Run(R"({"site":"a","epoch":1,"subject":1,"source":"p","mean":[5],"scale_tril":[3]}
{"site":"b","epoch":1,"subject":1,"source":"p","mean":[1,2,3],"scale_tril":[1,1,1,0,0,2]})"),
            0);
  EXPECT_NEAR(results_[0]["covariance"][0][0].get<double>(), 9, 1e-12);
  EXPECT_NEAR(results_[1]["covariance"][1][1].get<double>(), 2, 1e-12);
  EXPECT_NEAR(results_[1]["covariance"][2][2].get<double>(), 4, 1e-12);
}

TEST_F(ConflateCommandTest, RefusesASecondTupleOfTheSameSource) {
  EXPECT_EQ(Run(Line("p1", 1) + Line("p1", 5) + Line("p2", 1)), 65);
  EXPECT_THAT(error_, HasSubstr("tributary conflate: line 2: field 'source': 'p1' has been given"));
  EXPECT_NEAR(results_[0]["mean"][0].get<double>(), 1, 1e-12);
}

TEST_F(ConflateCommandTest, NamesLineAndFieldOfBadInputAndGoesOn) {
  const std::string head = R"({"site":"a","epoch":1,"subject":1,"source":"p1",)";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{", "not a JSON object"},
      {"[1]", "not a JSON object"},
      {R"({"mean":[1e400,2]})", "a number is too large"},
      {R"({"epoch":1})", "field 'site' is missing"},
      {R"({"site":"a","epoch":-1,"subject":1,"source":"p"})", "field 'epoch' must be an integer"},
      {R"({"site":"a","epoch":1,"subject":4294967296,"source":"p"})", "field 'subject' must be an integer"},
      {R"({"site":"a","epoch":1,"subject":1,"source":""})", "field 'source' must be a string"},
      {head + R"("scale_tril":[1]})", "field 'mean' is missing"},
      {head + R"("mean":[1,null],"scale_tril":[1,0,1]})", "field 'mean' element 1 must be a finite number"},
      {head + R"("mean":[],"scale_tril":[]})", "field 'mean' has 0 elements"},
      {head + R"("mean":[1,2],"scale_tril":[1,0]})", "field 'scale_tril' has 2 elements, must have 3"},
      {head + R"("mean":[1,2],"scale_tril":[1,0,0]})", "field 'scale_tril' element 2 is 0"},
      {head + R"("mean":[1e999,2],"scale_tril":[1,0,1]})", ""},
      {head + R"("mean":[1],"scale_tril":[1]})", "field 'mean' has 1 elements, must have 2"}};
  for (const auto& [line, message] : cases) {
    EXPECT_EQ(Run(Line("first", 1) + line + "\n" + Line("last", 1)), 65) << line;
    EXPECT_THAT(error_, HasSubstr("line 2: " + message)) << line;
    ASSERT_EQ(results_.size(), 1u) << line;
    EXPECT_EQ(results_[0]["contributors"].size(), 2u) << line;
  }
}

TEST_F(ConflateCommandTest, AResultBeyondTheRangeOfDoubleIsNotWritten) {
  EXPECT_EQ(Run(R"({"site":"a","epoch":1,"subject":1,"source":"p","mean":[5],"scale_tril":[1e300]})"), 65);
  EXPECT_TRUE(results_.empty());
  EXPECT_THAT(error_, HasSubstr("beyond the range"));
}

// Probabilities of three classes.
class ConflateClassesTest : public ConflateCommandTest {
 protected:
  static std::string Classes(const std::string& source, const std::vector<double>& probabilities,
                             const std::string& rest = "") {
    nlohmann::json logs = nlohmann::json::array();
    for (const double each : probabilities) logs.push_back(each > 0 ? std::log(each) : -1e30);
    return R"({"site":"a","epoch":1,"subject":1,"source":")" + source + R"(","log_probabilities":)" +
           logs.dump() + rest + "}\n";
  }
  void ExpectResult(const std::vector<double>& weights) {
    ASSERT_EQ(results_.size(), 1u);
    double sum = 0;
    for (const double each : weights) sum += each;
    for (std::size_t c = 0; c < weights.size(); ++c) {
      EXPECT_NEAR(results_[0]["probabilities"][c].get<double>(), weights[c] / sum, 1e-12);
      EXPECT_NEAR(std::exp(results_[0]["log_probabilities"][c].get<double>()), weights[c] / sum, 1e-12);
    }
  }
};

TEST_F(ConflateClassesTest, MultipliesIndependentSources) {
  EXPECT_EQ(Run(Classes("p2", {0.5, 0.3, 0.2}) + Classes("p1", {0.6, 0.1, 0.3})), 0);
  ExpectResult({0.5 * 0.6, 0.3 * 0.1, 0.2 * 0.3});
  EXPECT_EQ(results_[0]["contributors"], nlohmann::json({"p1", "p2"}));
  EXPECT_FALSE(results_[0].contains("classes"));
  EXPECT_FALSE(results_[0].contains("mean"));
}

TEST_F(ConflateClassesTest, CountsThePriorOnce) {
  options_.prior = {0.2, 0.3, 0.5};
  EXPECT_EQ(Run(Classes("p1", {0.5, 0.3, 0.2}) + Classes("p2", {0.6, 0.1, 0.3})), 0);
  ExpectResult({0.5 * 0.6 / 0.2, 0.3 * 0.1 / 0.3, 0.2 * 0.3 / 0.5});
  options_.prior = {0.5, 0.5};
  EXPECT_EQ(Run(Classes("p1", {0.5, 0.3, 0.2})), 65);
  EXPECT_THAT(error_, HasSubstr("--prior has 2 probabilities for 3 classes"));
}

TEST_F(ConflateClassesTest, PoolsIfToldTo) {
  options_.method = ConflateOptions::Method::kIntersection;
  EXPECT_EQ(Run(Classes("p1", {0.5, 0.3, 0.2}) + Classes("p2", {0.5, 0.3, 0.2})), 0);
  ExpectResult({0.5, 0.3, 0.2});
}

TEST_F(ConflateClassesTest, KeepsTheNamesOfTheClasses) {
  const std::string names = R"(,"classes":["BPSK","QPSK","GFSK"])";
  EXPECT_EQ(Run(Classes("p1", {1, 0, 0}, names) + Classes("p2", {0, 1, 0}, names)), 0);
  EXPECT_EQ(results_[0]["classes"], nlohmann::json({"BPSK", "QPSK", "GFSK"}));
  ExpectResult({1, 1, std::exp(-20)});
}

TEST_F(ConflateClassesTest, NamesLineAndFieldOfBadInputAndGoesOn) {
  const std::string names = R"(,"classes":["BPSK","QPSK","GFSK"])";
  const std::string head = R"({"site":"a","epoch":1,"subject":1,"source":"p1",)";
  std::string thousand = "-7";
  for (int i = 1; i < 1000; ++i) thousand += ",-7";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {head + R"("log_probabilities":[0]})", "field 'log_probabilities' has 1 elements, must have 2 to 256"},
      {head + R"("log_probabilities":[]})", "field 'log_probabilities' has 0 elements"},
      {head + R"("log_probabilities":[)" + thousand + "]}", "field 'log_probabilities' has 1000 elements"},
      {head + R"("log_probabilities":[0,0]})", "field 'log_probabilities' must be the natural logarithms"},
      {head + R"("log_probabilities":[0.5,-1]})", "field 'log_probabilities' must be the natural logarithms"},
      {head + R"("log_probabilities":[0,null]})",
       "field 'log_probabilities' element 1 must be a finite number"},
      {head + R"("log_probabilities":"x"})", "field 'log_probabilities' must be an array"},
      {head + R"("log_probabilities":[0,-99]})", "field 'log_probabilities' has 2 elements, must have 3"},
      {head + R"("mean":[1],"scale_tril":[1]})", "field 'mean' has 1 elements, must have 0"},
      {Classes("p1", {0.5, 0.3, 0.2}), "field 'classes' must be equal"},
      {Classes("p1", {0.5, 0.3, 0.2}, R"(,"classes":["GFSK","QPSK","BPSK"])"),
       "field 'classes' must be equal"},
      {Classes("p1", {0.5, 0.3, 0.2}, R"(,"classes":["BPSK"])"), "field 'classes' has 1 names for 3"},
      {Classes("p1", {0.5, 0.3, 0.2}, R"(,"classes":[1,2,3])"), "field 'classes' element 0 must be a text"}};
  const std::string first = Classes("first", {0.5, 0.3, 0.2}, names);
  const std::string last = Classes("last", {0.5, 0.3, 0.2}, names);
  for (const auto& [line, message] : cases) {
    EXPECT_EQ(Run(first + line + "\n" + last), 65) << line;
    EXPECT_THAT(error_, HasSubstr("line 2: " + message)) << line;
    ASSERT_EQ(results_.size(), 1u) << line;
    EXPECT_EQ(results_[0]["contributors"].size(), 2u) << line;
  }
}

TEST_F(ConflateCommandTest, IsASubcommandWithAMethod) {
  CLI::App app;
  int exit_code = 0;
  Commands program(app, exit_code);
  AddConflateCommand(program);
  EXPECT_THROW(app.parse("conflate --method sum"), CLI::ValidationError);
  EXPECT_THROW(app.parse("conflate --prior 0.5,2"), CLI::ValidationError);
}

TEST_F(ConflateClassesTest, ReadsAPrior) {
  EXPECT_EQ(ReadPrior("0.2,0.3,0.5", options_.prior), "");
  EXPECT_EQ(options_.prior, (std::vector<double>{0.2, 0.3, 0.5}));
  for (const char* bad : {"", "0.5,", "0.5,x", "0.5,0", "0.5;0.5", "nan", "2"}) {
    EXPECT_THAT(ReadPrior(bad, options_.prior), HasSubstr("is not allowed")) << bad;
  }
}

}  // namespace
}  // namespace tributary::cli
