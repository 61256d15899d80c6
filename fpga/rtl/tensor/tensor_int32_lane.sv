// The output stage of one channel in int32: bias, shift, multiplier and limits. A sum per cycle, its result 13 cycles later.
// fpga/model/tensor_int32.h defines the arithmetic.
module tensor_int32_lane #(
  parameter int FAMILY = 1
) (
  input  logic               clk_i,
  // Parts of the channel words that wait, each taken when the first sum of a block gets there.
  input  logic [87:0]        bias_i,
  input  logic               take_bias_i,        // with the sum
  input  logic [5:0]         shift_i,
  input  logic               take_shift_i,       // one cycle later
  input  logic [33:0]        multiplier_i,
  input  logic               take_multiplier_i,  // five
  input  logic [95:0]        sum_i,
  input  logic signed [31:0] low_i,
  input  logic signed [31:0] high_i,
  output logic [31:0]        result_o
);
  logic [39:0] shifted;
  tensor_shift #(.SUM(96), .BIAS(88), .RESULT(40)) shift (
    .clk_i, .bias_i, .take_bias_i, .shift_i, .take_shift_i, .sum_i, .result_o(shifted)
  );

  // 6 … 8: products of two parts of each factor; the lower parts have no sign. 9, 10: their sum. 11, 12: rounding. 13: limits.
  logic [33:0]        multiplier_q;
  logic signed [42:0] products[4];
  logic signed [60:0] low_q, high_q;
  logic signed [73:0] product_q;
  logic signed [33:0] result;
  always_ff @(posedge clk_i) if (take_multiplier_i) multiplier_q <= multiplier_i;
  for (genvar i = 0; i < 4; i++) begin : gen_product
    mac #(.FAMILY(FAMILY), .A_WIDTH(25), .B_WIDTH(18), .P_WIDTH(43)) product (
      .clk_i, .first_i(1'b0), .a_i(i / 2 == 0 ? {1'b0, shifted[23:0]} : 25'(signed'(shifted[39:24]))),
      .b_i({1'b0, multiplier_q[17*(i%2)+:17]}), .c_i('0), .p_o(products[i])
    );
  end
  always_ff @(posedge clk_i) begin
    low_q     <= 61'(products[0]) + (61'(products[1]) <<< 17);
    high_q    <= 61'(products[2]) + (61'(products[3]) <<< 17);
    product_q <= 74'(low_q) + (74'(high_q) <<< 24);
  end
  tensor_round #(.WIDTH(74), .SHIFT(41)) round (.clk_i, .value_i(product_q), .result_o(result));
  assign result_o = result > 34'(high_i) ? high_i : result < 34'(low_i) ? low_i : result[31:0];
endmodule
