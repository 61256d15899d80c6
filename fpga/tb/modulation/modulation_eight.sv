// The modulation block with eight columns, for the DSP48E1. The same instance is simulated and synthesised.
module modulation_eight (
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
  modulation #(.FAMILY(1), .COLUMNS(8), .ROWS(2112)) eight (
    .clk_i, .rst_ni, .load_data_i, .load_valid_i, .load_ready_o, .in_data_i, .in_valid_i, .in_ready_o, .out_data_o,
    .out_valid_o, .out_ready_i
  );
endmodule
