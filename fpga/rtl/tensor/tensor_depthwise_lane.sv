// One channel of a 3×3 window times its weights, which stay for a block. Five cycles.
module tensor_depthwise_lane (
  input  logic               clk_i,
  input  logic [71:0]        window_i,   // nine int8
  input  logic [71:0]        weights_i,
  output logic signed [19:0] sum_o
);
  logic [9*16-1:0] products;
  for (genvar t = 0; t < 9; t++) begin : gen_tap
    logic signed [7:0] weight;
    logic signed [9:0] weight3_q;
    assign weight = weights_i[8*t+:8];
    always_ff @(posedge clk_i) weight3_q <= 10'(weight) + (10'(weight) <<< 1);
    tensor_multiply #(.A_WIDTH(8), .B_WIDTH(8), .B_SIGNED(1'b1)) product (
      .clk_i, .a_i(weight), .a3_i(weight3_q), .b_i(window_i[8*t+:8]), .p_o(products[16*t+:16])
    );
  end
  adder_tree #(.LEAVES(9), .WIDTH(16)) tree (.clk_i, .leaves_i(products), .sum_o);
endmodule
