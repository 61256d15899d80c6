// The output stage of one channel in int16: bias, shift, multiplier, zero point and limits. A sum per cycle, its result 11 cycles
// later, what the shift leaves of it 6 cycles later. fpga/model/tensor_int16.h defines the arithmetic.
module tensor_int16_lane #(
  parameter int FAMILY = 1
) (
  input  logic               clk_i,
  // Parts of the channel words that wait, each taken when the first sum of a block gets there.
  input  logic [47:0]        bias_i,
  input  logic               take_bias_i,        // with the sum
  input  logic [5:0]         shift_i,
  input  logic               take_shift_i,       // one cycle later
  input  logic [16:0]        multiplier_i,
  input  logic               take_multiplier_i,  // five
  input  logic [63:0]        sum_i,
  input  logic signed [15:0] zero_i,
  input  logic signed [15:0] low_i,
  input  logic signed [15:0] high_i,
  output logic [31:0]        shifted_o,
  output logic [15:0]        result_o
);
  tensor_shift #(.SUM(64), .RESULT(32)) shift (
    .clk_i, .bias_i, .take_bias_i, .shift_i, .take_shift_i, .sum_i, .result_o(shifted_o)
  );

  // 6 … 8: product. 9, 10: rounding. 11: zero point and limits.
  logic [16:0]        multiplier_q;
  logic signed [24:0] factor;
  logic signed [42:0] product;
  logic signed [19:0] result;
  logic signed [20:0] placed;
  assign factor = shifted_o[30:24] != {7{shifted_o[31]}} ? {shifted_o[31], {24{~shifted_o[31]}}} : shifted_o[24:0];
  always_ff @(posedge clk_i) if (take_multiplier_i) multiplier_q <= multiplier_i;
  mac #(.FAMILY(FAMILY), .A_WIDTH(25), .B_WIDTH(18), .P_WIDTH(43)) scale (
    .clk_i, .first_i(1'b0), .a_i(factor), .b_i({1'b0, multiplier_q}), .c_i('0), .p_o(product)
  );
  tensor_round #(.WIDTH(43), .SHIFT(24)) round (.clk_i, .value_i(product), .result_o(result));
  assign placed   = 21'(result) + 21'(zero_i);
  assign result_o = placed > 21'(high_i) ? high_i : placed < 21'(low_i) ? low_i : placed[15:0];
endmodule
