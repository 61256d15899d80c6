// Product of two floats, truncated; a new one every cycle, out four cycles after its operands. Two DSPs: the lower 17
// bits of b first, their product's upper part goes into the second one's adder.
module fusion_multiply #(
  parameter int FAMILY = 2
) (
  input  logic        clk_i,
  input  logic [36:0] a_i,
  input  logic [36:0] b_i,
  output logic [36:0] product_o
);
  logic signed [42:0] lower;
  logic signed [32:0] upper;  // the product without its lowest 17 bits
  logic [23:0]        a_q;
  logic [6:0]         b_q;
  mac #(.FAMILY(FAMILY), .A_WIDTH(25), .B_WIDTH(18), .P_WIDTH(43)) lower_mac (
    .clk_i, .first_i(1'b0), .a_i({1'b0, a_i[23:0]}), .b_i({1'b0, b_i[16:0]}), .c_i('0),
    .p_o(lower)
  );
  mac #(.FAMILY(FAMILY), .A_WIDTH(25), .B_WIDTH(8), .P_WIDTH(33)) upper_mac (
    .clk_i, .first_i(1'b0), .a_i({1'b0, a_q}), .b_i({1'b0, b_q}),
    .c_i(33'(signed'(lower[42:17]))), .p_o(upper)
  );

  // Sign and exponent wait four cycles for the significand.
  logic [4*13-1:0] wait_q;
  always_ff @(posedge clk_i) begin
    a_q    <= a_i[23:0];
    b_q    <= b_i[23:17];
    wait_q <= {wait_q[3*13-1:0], a_i[36] ^ b_i[36], a_i[35:24] + b_i[35:24]};
  end
  logic        negative;
  logic [11:0] exponent;
  assign {negative, exponent} = wait_q[3*13+:13];

  always_comb begin
    if (upper[30]) product_o = {negative, exponent + 12'd1, upper[30:7]};
    else if (upper[29]) product_o = {negative, exponent, upper[29:6]};
    else product_o = {1'b0, 12'h800, 24'd0};
  end
  logic unused_bits;
  assign unused_bits = ^{lower[16:0], upper[32:31], upper[5:0]};
endmodule
