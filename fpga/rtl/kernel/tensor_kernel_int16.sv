// tensor_kernel whose CONVOLVE has int16, too: 72 DSPs and a thirteenth of the LUTs more.
module tensor_kernel_int16 #(
  parameter int MAX_BURST   = 64,
  parameter int LANES       = 16,
  parameter int ACTIVATIONS = 16384,
  parameter int PIXELS      = 1024,
  parameter int LINE        = 512,
  parameter int KEPT        = 8192,
  parameter int FAMILY      = 2     // 1: DSP48E1, 2: DSP48E2
) (
`include "kernel_ports.svh"
);
  localparam int BFLOAT16 = 0;
  localparam int INT16    = 1;
  localparam int INT32    = 0;
  localparam int FLOAT32  = 0;
`include "tensor_body.svh"
endmodule
