// Sum or difference of two floats, truncated; a new one every cycle, out four cycles after its operands. The
// smaller one is truncated three bits below the larger one's last place.
module fusion_add (
  input  logic        clk_i,
  input  logic [36:0] a_i,
  input  logic [36:0] b_i,
  input  logic        subtract_i,
  output logic [36:0] sum_o
);
  // 1: operands. The exponent is compared as an unsigned number with its sign bit inverted.
  logic [36:0] a_q, b_q;
  logic        swap;
  assign swap = {~a_q[35], a_q[34:0]} < {~b_q[35], b_q[34:0]};
  // 2: ordered by magnitude
  logic        negative_q, differ_q;
  logic [11:0] exponent_q, distance_q;
  logic [23:0] larger_q, smaller_q;
  // 3: aligned
  logic        negative_qq, differ_qq;
  logic [11:0] exponent_qq;
  logic [26:0] larger_qq, smaller_qq;
  // 4: added
  logic        negative_qqq;
  logic [11:0] exponent_qqq;
  logic [27:0] sum_q;

  always_ff @(posedge clk_i) begin
    a_q <= a_i;
    b_q <= {b_i[36] ^ subtract_i, b_i[35:0]};

    negative_q <= swap ? b_q[36] : a_q[36];
    differ_q   <= a_q[36] != b_q[36];
    exponent_q <= swap ? b_q[35:24] : a_q[35:24];
    distance_q <= swap ? b_q[35:24] - a_q[35:24] : a_q[35:24] - b_q[35:24];
    larger_q   <= swap ? b_q[23:0] : a_q[23:0];
    smaller_q  <= swap ? a_q[23:0] : b_q[23:0];

    negative_qq <= negative_q;
    differ_qq   <= differ_q;
    exponent_qq <= exponent_q;
    larger_qq   <= {larger_q, 3'b0};
    smaller_qq  <= distance_q < 12'd32 ? {smaller_q, 3'b0} >> distance_q[4:0] : '0;

    negative_qqq <= negative_qq;
    exponent_qqq <= exponent_qq;
    sum_q        <= differ_qq ? 28'(larger_qq) - 28'(smaller_qq) : 28'(larger_qq) + 28'(smaller_qq);
  end

  fusion_normalise #(.WIDTH(28)) normalise (
    .negative_i(negative_qqq), .magnitude_i(sum_q), .scale_i(exponent_qqq - 12'd26), .value_o(sum_o)
  );
endmodule
