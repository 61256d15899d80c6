// The matrix of LANES × LANES multiply-accumulate units: a vector of activations a cycle times a tile of weights that stays.
// The next tile is shifted in behind the present one and takes its place with the vector that says so, without a gap.
module tensor_matrix #(
  parameter int LANES  = 16,
  parameter int FAMILY = 1,
  parameter int SW     = 17 + $clog2(LANES / 4)
) (
  input  logic                clk_i,
  input  logic [8*LANES-1:0]  activations_i,
  input  logic                swap_i,        // the waiting weights begin with this vector
  // Rows of a tile, the first one for lane 0: weights of neighbouring columns as {w1 - (w0 < 0), w0}. The last row comes at
  // least four cycles before swap_i, the first row of the next tile not before it.
  input  logic                shift_i,
  input  logic [8*LANES-1:0]  weights_i,
  // 8 cycles, those of the adders and LANES / 2 - 1 cycles behind the vector.
  output logic [SW*LANES-1:0] sums_o
);
  localparam int PAIRS = LANES / 2;
  if (LANES != 8 && LANES != 16 && LANES != 32) $error("LANES is 8, 16 or 32");

  // Each row is one cycle behind the one above, within its group of four.
  logic [8*LANES-1:0] skewed;
  logic [3:0]         swaps;
  for (genvar r = 0; r < LANES; r++) begin : gen_skew
    delay_line #(.WIDTH(8), .DEPTH(r % 4)) skew (
      .clk_i, .en_i(1'b1), .data_i(activations_i[8*r+:8]), .data_o(skewed[8*r+:8])
    );
  end
  for (genvar r = 0; r < 4; r++) begin : gen_swap
    delay_line #(.WIDTH(1), .DEPTH(r)) skew (.clk_i, .en_i(1'b1), .data_i(swap_i), .data_o(swaps[r]));
  end

  // Weights take the way of the activations, so that both reach a column equally late.
  for (genvar c = 0; c < PAIRS; c++) begin : gen_column
    logic [8*LANES-1:0] entering, leaving;
    logic [3:0]         entering_swap, leaving_swap;
    logic               shift;
    logic [15:0]        weights;
    logic [2*SW-1:0]    pair;
    if (c == 0) begin : gen_edge
      assign entering      = skewed;
      assign entering_swap = swaps;
    end else begin : gen_inner
      assign entering      = gen_column[c-1].leaving;
      assign entering_swap = gen_column[c-1].leaving_swap;
    end
    delay_line #(.WIDTH(17), .DEPTH(3 + c)) weight_delay (
      .clk_i, .en_i(1'b1), .data_i({shift_i, weights_i[16*c+:16]}), .data_o({shift, weights})
    );
    tensor_column #(.LANES(LANES), .FAMILY(FAMILY)) column (
      .clk_i, .activations_i(entering), .swap_i(entering_swap), .activations_o(leaving), .swap_o(leaving_swap),
      .shift_i(shift), .weights_i(weights), .low_o(pair[SW-1:0]), .high_o(pair[2*SW-1:SW])
    );
    delay_line #(.WIDTH(2 * SW), .DEPTH(PAIRS - 1 - c)) align (
      .clk_i, .en_i(1'b1), .data_i(pair), .data_o(sums_o[2*SW*c+:2*SW])
    );
  end
  wire unused = &{1'b0, gen_column[PAIRS-1].leaving, gen_column[PAIRS-1].leaving_swap};
endmodule
