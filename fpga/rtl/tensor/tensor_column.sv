// Two columns of the matrix, which share their DSPs: LANES rows, each with the weights of one input channel for two output
// channels. Activations and the exchange of weights pass on to the right neighbour, one column a cycle; sums move down.
//
// A DSP multiplies w1 · 2^17 + w0 by an activation. The sums of four rows keep both fields apart: weights are ±127, and
// 4 · 127 · 128 < 2^16. Adders join the groups of four.
module tensor_column #(
  parameter int LANES  = 16,
  parameter int FAMILY = 1,
  parameter int SW     = 17 + $clog2(LANES / 4)
) (
  input  logic               clk_i,
  // Row r is r % 4 cycles behind row 0.
  input  logic [8*LANES-1:0] activations_i,
  input  logic [3:0]         swap_i,         // the waiting weights begin with these activations, of rows r % 4
  output logic [8*LANES-1:0] activations_o,
  output logic [3:0]         swap_o,
  // Weights {w1 - (w0 < 0), w0} enter at the last row and move up one row with each shift.
  input  logic               shift_i,
  input  logic [15:0]        weights_i,
  // 8 cycles and those of the adders behind the activations of row 0.
  output logic [SW-1:0]      low_o,
  output logic [SW-1:0]      high_o
);
  localparam int OFFSET = 17;
  localparam int AW     = OFFSET + 8;
  localparam int PW     = AW + 8 + 2;
  localparam int GROUPS = LANES / 4;

  always_ff @(posedge clk_i) begin
    activations_o <= activations_i;
    swap_o        <= swap_i;
  end

  logic [GROUPS*OFFSET-1:0] low_q, high_q;
  for (genvar r = 0; r < LANES; r++) begin : gen_row
    logic [15:0] waiting_q, weights_q, below;
    logic signed [PW-1:0] above, sum;
    if (r == LANES - 1) begin : gen_enter
      assign below = weights_i;
    end else begin : gen_move
      assign below = gen_row[r+1].waiting_q;
    end
    if (r % 4 == 0) begin : gen_first
      assign above = '0;
    end else begin : gen_next
      assign above = gen_row[r-1].sum;
    end
    always_ff @(posedge clk_i) begin
      if (shift_i) waiting_q <= below;
      if (swap_i[r%4]) weights_q <= waiting_q;
    end
    mac #(.FAMILY(FAMILY), .A_WIDTH(AW), .B_WIDTH(8), .P_WIDTH(PW)) dual (
      .clk_i, .first_i(1'b0),
      .a_i({weights_q[15:8], {(OFFSET - 8) {weights_q[7]}}, weights_q[7:0]}),
      .b_i(activations_o[8*r+:8]), .c_i(above), .p_o(sum)
    );
    if (r % 4 == 3) begin : gen_split
      logic unused_sign;
      assign unused_sign = sum[PW-1];
      always_ff @(posedge clk_i) begin
        low_q[(r/4)*OFFSET+:OFFSET]  <= sum[OFFSET-1:0];
        // The lower field's sign was borrowed from the upper field.
        high_q[(r/4)*OFFSET+:OFFSET] <= sum[2*OFFSET-1:OFFSET] + OFFSET'(sum[OFFSET-1]);
      end
    end
  end

  adder_tree #(.LEAVES(GROUPS), .WIDTH(OFFSET)) low_sum (.clk_i, .leaves_i(low_q), .sum_o(low_o));
  adder_tree #(.LEAVES(GROUPS), .WIDTH(OFFSET)) high_sum (.clk_i, .leaves_i(high_q), .sum_o(high_o));
endmodule
