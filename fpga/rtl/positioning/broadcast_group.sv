// LANES outputs of layer 2: one DSP each, all with the same input. Everything moves on to the next group a
// cycle later, so that the groups finish one after another, as layer 3 needs them.
module broadcast_group #(
  parameter int FAMILY = 2,
  parameter int INPUTS = 200,
  parameter int LANES  = 13,
  parameter int RW     = $clog2(INPUTS),
  parameter int WW     = LANES > 4 ? $clog2((LANES + 3) / 4) : 1
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                write_valid_i,
  input  logic [RW-1:0]       write_row_i,
  input  logic [WW-1:0]       write_word_i,
  input  logic [63:0]         write_data_i,
  input  logic [RW-1:0]       row_i,
  input  logic signed [15:0]  value_i,  // zero where there is no input: it adds nothing
  input  logic                first_i,  // with the first and the last input
  input  logic                last_i,
  output logic [RW-1:0]       row_o,
  output logic signed [15:0]  value_o,
  output logic                first_o,
  output logic                last_o,
  output logic [LANES*39-1:0] sums_o,
  output logic                done_o    // the sums are complete: four cycles after the last input
);
  logic [LANES*16-1:0] weights;
  weight_memory #(.WIDTH(16 * LANES), .DEPTH(INPUTS)) parameters (
    .clk_i, .write_valid_i, .write_row_i, .write_word_i, .write_data_i, .row_i, .row_o(weights)
  );
  always_ff @(posedge clk_i) begin
    row_o   <= row_i;
    value_o <= value_i;
    first_o <= first_i;
    last_o  <= last_i;
  end
  logic clear;
  delay #(.CYCLES(2)) clear_delay (.clk_i, .rst_ni, .bit_i(first_o), .bit_o(clear));
  delay #(.CYCLES(3)) done_delay (.clk_i, .rst_ni, .bit_i(last_o), .bit_o(done_o));
  for (genvar l = 0; l < LANES; l++) begin : gen_lane
    // 39 bits: no accumulator of the golden model leaves them.
    mac #(.FAMILY(FAMILY), .A_WIDTH(16), .B_WIDTH(16), .P_WIDTH(39), .ACCUMULATE(1'b1)) lane (
      .clk_i, .first_i(clear), .a_i(weights[16*l+:16]), .b_i(value_o), .c_i('0), .p_o(sums_o[39*l+:39])
    );
  end
endmodule
