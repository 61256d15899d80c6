// Numbers of a program of the tensor unit, as fpga/model/tensor_program.h defines them.
package tensor_pkg;
  // No module needs all of them.
  /* verilator lint_off UNUSEDPARAM */
  localparam logic [7:0] END        = 8'd0;
  localparam logic [7:0] LOAD       = 8'd1;
  localparam logic [7:0] STORE      = 8'd2;
  localparam logic [7:0] CONVOLVE   = 8'd3;
  localparam logic [7:0] DEPTHWISE  = 8'd4;
  localparam logic [7:0] MAX_POOL   = 8'd5;
  localparam logic [7:0] SUM_POOL   = 8'd6;
  localparam logic [7:0] KEEP       = 8'd7;

  localparam logic [7:0] INT8       = 8'd0;
  localparam logic [7:0] BFLOAT16   = 8'd1;
  localparam logic [7:0] INT16      = 8'd2;
  localparam logic [7:0] INT32      = 8'd3;
  localparam logic [7:0] FLOAT32    = 8'd4;

  localparam logic [2:0] OK            = 3'd0;
  localparam logic [2:0] BAD_FIELD     = 3'd1;
  localparam logic [2:0] BAD_ADDRESS   = 3'd2;
  localparam logic [2:0] BAD_WEIGHT    = 3'd3;
  localparam logic [2:0] PROGRAM_ENDS  = 3'd4;
  localparam logic [2:0] READ_FAILED   = 3'd5;
  localparam logic [2:0] WRITE_FAILED  = 3'd6;

  // An address on its way: wide enough for every sum of fields in range, so that none wraps into the memory.
  localparam int ADDRESS_BITS = 28;
  /* verilator lint_on UNUSEDPARAM */
endpackage
