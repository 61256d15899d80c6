// Weighted sum of one hidden neuron, a new one every cycle: three multipliers in a chain. Input k and its weight come k
// cycles after input 0, the bias with input 2; the sum is out five cycles after input 0. It has 18 fraction bits and
// half a unit of the table's address (2^-11) on top: what follows cuts off and has rounded.
module beacon_neuron #(
  parameter int FAMILY = 2
) (
  input  logic               clk_i,
  input  logic [32:0]        inputs_i,   // 11 bits each
  input  logic [47:0]        weights_i,
  input  logic signed [15:0] bias_i,
  output logic signed [28:0] sum_o
);
  localparam logic [9:0] HALF = 10'd64;
  logic signed [28:0] bias, sum_0, sum_1;
  assign bias = 29'(signed'({bias_i, HALF}));

  mac #(.FAMILY(FAMILY), .A_WIDTH(16), .B_WIDTH(11), .P_WIDTH(29)) mac_0 (
    .clk_i, .first_i(1'b0), .a_i(weights_i[15:0]), .b_i(inputs_i[10:0]), .c_i(bias), .p_o(sum_0)
  );
  mac #(.FAMILY(FAMILY), .A_WIDTH(16), .B_WIDTH(11), .P_WIDTH(29)) mac_1 (
    .clk_i, .first_i(1'b0), .a_i(weights_i[31:16]), .b_i(inputs_i[21:11]), .c_i(sum_0), .p_o(sum_1)
  );
  mac #(.FAMILY(FAMILY), .A_WIDTH(16), .B_WIDTH(11), .P_WIDTH(29)) mac_2 (
    .clk_i, .first_i(1'b0), .a_i(weights_i[47:32]), .b_i(inputs_i[32:22]), .c_i(sum_1), .p_o(sum_o)
  );
endmodule
