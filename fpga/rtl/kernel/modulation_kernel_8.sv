// modulation_kernel with 8 columns: 64 DSPs less and about half as many cycles more. The rows hold the network of [MOD].
module modulation_kernel_8 #(
  parameter int MAX_BURST = 64,
  parameter int FAMILY    = 2    // 1: DSP48E1, 2: DSP48E2
) (
`include "kernel_ports.svh"
);
`include "kernel_body.svh"

  localparam int COLUMNS = 8;
  localparam int ROWS    = 2112;
`include "modulation_body.svh"
endmodule
