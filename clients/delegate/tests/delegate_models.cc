// Writes models for tests into a folder.
// usage: delegate_models FOLDER
#include "clients/delegate/tests/delegate_models.h"

#include <filesystem>
#include <fstream>
#include <iostream>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: delegate_models FOLDER\n";
    return 64;
  }
  const std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder);
  using namespace tributary::delegate::testing;
  std::ofstream(folder / "affine.onnx", std::ios::binary) << AffineModel();
  std::ofstream(folder / "layers.onnx", std::ios::binary) << LayersModel();
  std::ofstream(folder / "unknown.onnx", std::ios::binary) << UnknownModel();
  return std::filesystem::file_size(folder / "unknown.onnx") > 0 ? 0 : 1;
}
