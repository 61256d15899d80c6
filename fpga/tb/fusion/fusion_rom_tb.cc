// The generated sources must equal the model's present output.
#include <fstream>
#include <sstream>

#include "fpga/model/fusion_rom.h"
#include "gtest/gtest.h"

namespace tributary::fpga {
namespace {

std::string Contents(const std::string& name) {
  std::ifstream file(std::string(TRIBUTARY_SOURCE_DIR) + "/fpga/rtl/fusion/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(FusionRomTest, GeneratedSourcesAreUpToDate) {
  EXPECT_EQ(Contents("fusion_table.sv"), FusionTableSource()) << "build the target fusion_roms";
  EXPECT_EQ(Contents("fusion_program.sv"), FusionProgramSource()) << "build the target fusion_roms";
}

}  // namespace
}  // namespace tributary::fpga
