// A tensor kernel with every precision: by default with 8 lanes, small memories and bursts of AXI3.
module tensor_small #(
  parameter int MAX_BURST   = 16,
  parameter int LANES       = 8,
  parameter int ACTIVATIONS = 1024,
  parameter int PIXELS      = 64,
  parameter int LINE        = 32,
  parameter int KEPT        = 256,
  parameter int FAMILY      = 1,
  parameter int BFLOAT16    = 1,
  parameter int INT16       = 1,
  parameter int INT32       = 1,
  parameter int FLOAT32     = 1
) (
`include "kernel_ports.svh"
);
`include "tensor_body.svh"
endmodule
