// Stands for doctor_xrt.cc in a build without XRT.
#include "cli/doctor/doctor.h"

namespace tributary::cli {

void CheckBoard(const DoctorOptions&, checks::CheckReport& report) {
  report.Fault("xrt", "this program was built without XRT",
               "Install libxrt-dev and build again (deploy/packages-fpga.txt)");
}

}  // namespace tributary::cli
