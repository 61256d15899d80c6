// Modulation recognition as a kernel: 32 words of 8 int8 samples in (I, then Q), 5 words with 10 int32 logits out
// per burst; program and weights as fpga/model/modulation_image.h orders them. No configuration. The order depends on
// the number of columns, so the kernel's name says it: this one has 12.
module modulation_kernel #(
  parameter int MAX_BURST = 64,
  parameter int FAMILY    = 2    // 1: DSP48E1, 2: DSP48E2
) (
`include "kernel_ports.svh"
);
`include "kernel_body.svh"

  localparam int COLUMNS = 12;
  localparam int ROWS    = 2048;
`include "modulation_body.svh"
endmodule
