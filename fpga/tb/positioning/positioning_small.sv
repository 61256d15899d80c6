// A smaller positioning block for the DSP48E1. Its sizes leave lanes and words unused. Four phases give
// pauses between the inputs of layer 2, which the full size does not have, and sums that fill their fields.
// The same instance is simulated and synthesised.
module positioning_small (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [63:0] load_data_i,
  input  logic        load_valid_i,
  output logic        load_ready_o,
  input  logic [63:0] in_data_i,
  input  logic        in_valid_i,
  output logic        in_ready_o,
  output logic [63:0] out_data_o,
  output logic        out_valid_o,
  input  logic        out_ready_i
);
  positioning #(
    .FAMILY(1), .N0(64), .N1(16), .N2(7), .N3(4), .N4(3), .PARALLEL1(16), .PARALLEL3(2)
  ) scaled (
    .clk_i, .rst_ni, .load_data_i, .load_valid_i, .load_ready_o, .in_data_i, .in_valid_i, .in_ready_o, .out_data_o,
    .out_valid_o, .out_ready_i
  );
endmodule
