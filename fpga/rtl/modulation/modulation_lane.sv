// One position, two output channels: a DSP that computes both products of an input in one multiplication, and
// the two sums.
//
// The A port holds w1·2^17 + w0. Four products of ±127 by -128…127 fit the lower 17 bits, in a DSP48E1 as in a
// DSP48E2, so the fields are split after every four products (a quad) and added to 24-bit sums.
module modulation_lane #(
  parameter int FAMILY = 2
) (
  input  logic               clk_i,
  input  logic [24:0]        weights_i,
  input  logic signed [7:0]  input_i,
  input  logic               first_i,  // two cycles after the first product of a quad entered
  input  logic               high_i,   // four cycles after the last product of a quad entered
  input  logic               add_i,    // then and one cycle later: the lower field, the upper field
  input  logic               clear_i,  // with add_i: the quad is the first one of the sum
  output logic signed [23:0] sum_o     // that was added to last
);
  logic signed [33:0] products;
  mac #(.FAMILY(FAMILY), .A_WIDTH(25), .B_WIDTH(8), .P_WIDTH(34), .ACCUMULATE(1'b1)) dual (
    .clk_i, .first_i, .a_i(weights_i), .b_i(input_i), .c_i('0), .p_o(products)
  );

  // The lower field's sign was borrowed from the upper field. Two sums take turns: the one that is added to leaves
  // the tail and comes back to the head.
  logic signed [16:0] upper_q, field_q;
  logic signed [23:0] head_q, tail_q, addend;
  assign addend = clear_i ? '0 : tail_q;
  assign sum_o  = head_q;
  always_ff @(posedge clk_i) begin
    upper_q <= products[33:17] + 17'(products[16]);
    field_q <= high_i ? upper_q : products[16:0];
    if (add_i) begin
      head_q <= addend + 24'(field_q);
      tail_q <= head_q;
    end
  end
endmodule
