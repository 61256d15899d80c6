#include "cli/evaluate/modulation_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "cli/evaluate/fusion_claims.h"

namespace tributary::cli {
namespace {

// The plot's area within its picture, in pixels.
constexpr double kLeft = 50, kTop = 10, kWidth = 640, kHeight = 320;

struct Curve {
  std::string_view decision;  // in a ModulationEvaluation
  std::string_view name;
  std::string_view colour;
};
constexpr std::array<Curve, 6> kCurves = {{{"one", "one burst", "#000000"},
                                           {"vote_of_10", "vote of 10 bursts", "#e69f00"},
                                           {"conflation_of_10", "conflation of 10 bursts", "#d55e00"},
                                           {"receivers_2", "2 receivers", "#56b4e9"},
                                           {"receivers_4", "4 receivers", "#0072b2"},
                                           {"receivers_8", "8 receivers", "#009e73"}}};

std::string EscapedHtml(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '&':
        escaped += "&amp;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

double PlotX(std::size_t snr) { return kLeft + kWidth * static_cast<double>(snr) / (kSnrs - 1); }
double PlotY(double accuracy) { return kTop + kHeight * (1 - accuracy); }

std::string PlotAxes() {
  std::string svg;
  for (int percent = 0; percent <= 100; percent += 20) {
    const double y = PlotY(percent / 100.0);
    svg += fmt::format(
        "<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#ddd\"/>"
        "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{} %</text>\n",
        kLeft, kLeft + kWidth, y, y, kLeft - 6, y + 4, percent);
  }
  for (std::size_t snr = 0; snr < kSnrs; snr += 2) {
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", PlotX(snr),
                       kTop + kHeight + 18, SnrDb(snr));
  }
  svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">SNR, dB</text>\n", kLeft + kWidth / 2,
                     kTop + kHeight + 36);
  return svg;
}

std::string AccuracyPlot(const ModulationEvaluation& evaluation) {
  std::string svg = fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"Accuracy by SNR\">\n",
                                kLeft + kWidth + 200, kTop + kHeight + 45);
  svg += PlotAxes();
  double legend = kTop + 16;
  for (const Curve& curve : kCurves) {
    const DecisionFigures& decision = FindDecision(evaluation, curve.decision);
    svg += fmt::format("<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"2\" points=\"", curve.colour);
    for (std::size_t snr = 0; snr < kSnrs; ++snr) {
      svg += fmt::format("{:.1f},{:.1f} ", PlotX(snr), PlotY(decision.by_snr[snr].accuracy()));
    }
    svg += fmt::format("\"/><text x=\"{}\" y=\"{}\" fill=\"{}\">{}: {:.1f} %</text>\n", kLeft + kWidth + 12,
                       legend, curve.colour, curve.name, 100 * decision.all().accuracy());
    legend += 20;
  }
  return svg + "</svg>\n";
}

std::string ConfusionMatrix(const ClassificationFigures& figures) {
  std::string html = "<table><tr><th>sent \\ decided</th>";
  for (const std::string_view name : radio::kModulations) html += fmt::format("<th>{}</th>", name);
  html += "</tr>\n";
  for (std::size_t truth = 0; truth < radio::kModulations.size(); ++truth) {
    const auto& row = figures.confusion()[truth];
    std::uint64_t count = 0;
    for (const std::uint64_t decided : row) count += decided;
    html += fmt::format("<tr><th>{}</th>", radio::kModulations[truth]);
    for (const std::uint64_t decided : row) {
      const double share = count == 0 ? 0 : static_cast<double>(decided) / static_cast<double>(count);
      html += fmt::format("<td style=\"background:rgba(0,114,178,{:.2f});color:{}\">{:.0f}</td>", share,
                          share > 0.5 ? "#fff" : "#000", 100 * share);
    }
    html += "</tr>\n";
  }
  return html + "</table>\n";
}

// Sums up the ratios from `first` on.
std::string Matrices(const ModulationEvaluation& evaluation, std::size_t first, std::string_view heading) {
  std::string html;
  for (const Curve& curve : {kCurves[0], kCurves[2], kCurves[4]}) {
    ClassificationFigures figures;
    for (std::size_t snr = first; snr < kSnrs; ++snr) {
      figures.Add(FindDecision(evaluation, curve.decision).by_snr[snr]);
    }
    html += fmt::format("<h3>{}, {}: {:.1f} %</h3>\n{}", curve.name, heading, 100 * figures.accuracy(),
                        ConfusionMatrix(figures));
  }
  return html;
}

std::string FiguresTable(const ModulationEvaluation& evaluation) {
  std::string html =
      "<table><tr><th>decision</th><th>decisions</th><th>accuracy, %</th><th>NLL</th>"
      "<th>calibration error, %</th></tr>\n";
  for (const DecisionFigures& decision : evaluation) {
    const ClassificationFigures all = decision.all();
    html += fmt::format("<tr><th>{}</th><td>{}</td><td>{:.2f}</td>", EscapedHtml(decision.name), all.count(),
                        100 * all.accuracy());
    html += all.has_probabilities() ? fmt::format("<td>{:.3f}</td><td>{:.2f}</td></tr>\n", all.nll(),
                                                  100 * all.expected_calibration_error())
                                    : "<td></td><td></td></tr>\n";
  }
  return html + "</table>\n";
}

// What fusion promises, and whether this evaluation bears it out.
std::string ClaimsTable(const ModulationEvaluation& evaluation) {
  std::string html =
      "<table><tr><th>fusion</th><th>holds</th><th>least margin</th><th>unit</th><th>at dB</th></tr>\n";
  for (const FusionClaim& claim : CheckFusionClaims(evaluation)) {
    html += fmt::format(
        "<tr><td "
        "style=\"text-align:left\">{}</td><td>{}</td><td>{:+.3f}</td><td>{}</td><td>{:.0f}</td></tr>\n",
        EscapedHtml(claim.promise), claim.holds() ? "yes" : "no", claim.worst().margin,
        EscapedHtml(claim.unit), claim.worst().snr_db);
  }
  return html + "</table>\n";
}

}  // namespace

std::string ModulationReport(const std::vector<std::pair<std::string, std::string>>& facts,
                             const std::vector<EvaluatedDefinition>& definitions) {
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Modulation "
      "recognition</title>\n"
      "<style>body{font:14px sans-serif;max-width:60em;margin:2em auto}svg{font:12px sans-serif}"
      "td,th{padding:.2em .5em;text-align:right}table{border-collapse:collapse}</style></head><body>\n"
      "<h1>Modulation recognition</h1>\n<table>\n";
  for (const auto& [name, value] : facts) {
    html += fmt::format("<tr><th>{}</th><td style=\"text-align:left\">{}</td></tr>\n", EscapedHtml(name),
                        EscapedHtml(value));
  }
  html += "</table>\n";
  constexpr std::size_t kZeroDb = 10;
  for (const EvaluatedDefinition& definition : definitions) {
    html += fmt::format("<h2>SNR definition: {}</h2>\n", EscapedHtml(definition.name));
    html += AccuracyPlot(definition.evaluation) + FiguresTable(definition.evaluation) +
            ClaimsTable(definition.evaluation);
    html += "<p>Rows are what was sent; numbers are per cent of a row.</p>\n";
    html += Matrices(definition.evaluation, 0, "every SNR");
    html += Matrices(definition.evaluation, kZeroDb, "0 dB and more");
  }
  return html + "</body></html>\n";
}

}  // namespace tributary::cli
