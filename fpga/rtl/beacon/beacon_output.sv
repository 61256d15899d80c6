// One linear output: the hidden values come in pairs, each in an accumulator of its own. Both are added, and the sum is
// rounded and saturated to Q1.10 five cycles after the last pair.
module beacon_output #(
  parameter int FAMILY = 2
) (
  input  logic               clk_i,
  input  logic               first_i,    // two cycles after the first pair
  input  logic [21:0]        values_i,   // 11 bits each
  input  logic [31:0]        weights_i,
  input  logic signed [15:0] bias_i,
  output logic signed [10:0] output_o
);
  localparam logic [9:0] HALF = 10'd128;  // of a unit of the output
  logic signed [29:0] bias, even, odd, sum_q;
  logic signed [10:0] output_d;
  assign bias = 30'(signed'({bias_i, HALF}));

  mac #(.FAMILY(FAMILY), .A_WIDTH(16), .B_WIDTH(11), .P_WIDTH(30), .ACCUMULATE(1'b1)) mac_even (
    .clk_i, .first_i, .a_i(weights_i[15:0]), .b_i(values_i[10:0]), .c_i(bias), .p_o(even)
  );
  mac #(.FAMILY(FAMILY), .A_WIDTH(16), .B_WIDTH(11), .P_WIDTH(30), .ACCUMULATE(1'b1)) mac_odd (
    .clk_i, .first_i, .a_i(weights_i[31:16]), .b_i(values_i[21:11]), .c_i('0), .p_o(odd)
  );
  beacon_saturate #(.IN_WIDTH(22)) saturate (.value_i(sum_q[29:8]), .value_o(output_d));
  always_ff @(posedge clk_i) begin
    sum_q    <= even + odd;
    output_o <= output_d;
  end
  logic unused_fraction;
  assign unused_fraction = ^sum_q[7:0];
endmodule
