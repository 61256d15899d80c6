// Inference of an ONNX graph: floats, the quantised graph in floats, and its layers in integers. One thread.
//
// usage: graph_inference_bench MODEL.onnx IMAGES.npy, a table; or with --serve FORM behind it: for each line
// "n" on standard input the microseconds per image over n images, so that graph_inference.py can alternate
// with its baseline. The images calibrate the quantised graph, too.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/npy_array.h"
#include "core/graph/quantise/quantiser.h"
#include "core/graph/session.h"

namespace tributary {
namespace {

constexpr const char* kForms[] = {"float", "quantised-in-floats", "int8"};

std::string FileAt(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class GraphRun {
 public:
  GraphRun(const std::string& model, const std::string& images, const std::string& form)
      : images_(*graph::DecodeArray(FileAt(images))) {
    const std::string floats = FileAt(model);
    const bool quantised = form != kForms[0];
    std::string file = floats;
    if (quantised) {
      const std::string input = (*graph::Session::Load(floats))->inputs()[0].name;
      file = graph::Quantise(floats, {{input, images_}}, {})->file;
    }
    session_ = *graph::Session::Load(file, {.arithmetic = form == kForms[2] ? graph::Arithmetic::kIntegers
                                                                            : graph::Arithmetic::kAsWritten});
  }

  double Microseconds(int images) {
    const graph::Spec spec = session_->inputs()[0].spec;
    const std::size_t all = images_.bytes.size() / spec.bytes();
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < images; ++i) {
      const graph::View view{&spec, images_.bytes.data() + static_cast<std::size_t>(i) % all * spec.bytes()};
      if (!session_->Run({&view, 1}).ok()) std::abort();
    }
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    return took.count() / images;
  }

 private:
  graph::Array images_;
  std::unique_ptr<graph::Session> session_;
};

int ServeGraph(GraphRun run) {
  for (int images; std::cin >> images;) std::cout << run.Microseconds(std::max(images, 1)) << std::endl;
  return 0;
}

void PrintGraphTable(const std::string& model, const std::string& images) {
  std::vector<std::pair<std::string, GraphRun>> runs;
  for (const char* form : kForms) runs.emplace_back(form, GraphRun(model, images, form));
  std::map<std::string, std::vector<double>> times;
  for (int round = 0; round < 21; ++round) {
    for (auto& [form, run] : runs) times[form].push_back(run.Microseconds(20));
  }
  for (auto& [form, all] : times) {
    std::ranges::sort(all);
    std::printf("%-22s %9.1f us an image\n", form.c_str(), all[all.size() / 2]);
  }
}

}  // namespace
}  // namespace tributary

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 4 && words[2] == "--serve") {
    return tributary::ServeGraph(tributary::GraphRun(words[0], words[1], words[3]));
  }
  if (words.size() != 2) {
    std::fputs(
        "usage: graph_inference_bench MODEL.onnx IMAGES.npy [--serve float|quantised-in-floats|int8]\n",
        stderr);
    return 64;
  }
  tributary::PrintGraphTable(words[0], words[1]);
  return 0;
}
