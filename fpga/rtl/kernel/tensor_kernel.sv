// The tensor unit as a kernel (fpga/rtl/tensor), with 16 lanes and 256 KiB of activations. A program gives the layout of its
// tensors for a number of lanes, so the kernel's name says it.
module tensor_kernel #(
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
  localparam int INT16    = 0;
  localparam int INT32    = 0;
  localparam int FLOAT32  = 0;
`include "tensor_body.svh"
endmodule
