// The matrix in int16: a vector of ROWS activations a cycle times a tile of as many rows and columns that stays. A vector
// goes to all columns at once, and the sums of a column move down a chain of DSPs. The next tile is shifted in behind the
// present one and takes its place with the vector that says so, without a gap.
module tensor_int16_matrix #(
  parameter int WIDTH  = 16,  // of a factor; 17 for the halves of int32
  parameter int ROWS   = 8,
  parameter int FAMILY = 1,
  parameter int SW     = 2 * WIDTH + $clog2(ROWS)
) (
  input  logic                  clk_i,
  input  logic [WIDTH*ROWS-1:0] activations_i,
  input  logic                  swap_i,       // the waiting weights begin with this vector
  // Rows of a tile, the first one for channel 0. The last row comes before swap_i, the first row of the next tile not before it.
  input  logic                  shift_i,
  input  logic [WIDTH*ROWS-1:0] weights_i,
  // ROWS + 4 cycles behind the vector: column by column.
  output logic [SW*ROWS-1:0]    sums_o
);
  // Each row is one cycle behind the one above, as its sum is.
  logic [WIDTH*ROWS-1:0] skewed;
  logic [ROWS-1:0]       late_swaps;
  for (genvar r = 0; r < ROWS; r++) begin : gen_skew
    delay_line #(.WIDTH(WIDTH), .DEPTH(r + 2)) skew (
      .clk_i, .en_i(1'b1), .data_i(activations_i[WIDTH*r+:WIDTH]), .data_o(skewed[WIDTH*r+:WIDTH])
    );
    delay_line #(.WIDTH(1), .DEPTH(r + 1)) late_swap (
      .clk_i, .en_i(1'b1), .data_i(swap_i), .data_o(late_swaps[r])
    );
  end

  for (genvar c = 0; c < ROWS; c++) begin : gen_column
    for (genvar r = 0; r < ROWS; r++) begin : gen_row
      // All rows leave the place for the next tile at once; each is used when its activations are there.
      logic [WIDTH-1:0] waiting_q, present_q, weight_q, below;
      logic signed [SW-1:0] above, sum;
      if (r == ROWS - 1) begin : gen_enter
        assign below = weights_i[WIDTH*c+:WIDTH];
      end else begin : gen_move
        assign below = gen_row[r+1].waiting_q;
      end
      if (r == 0) begin : gen_first
        assign above = '0;
      end else begin : gen_next
        assign above = gen_row[r-1].sum;
      end
      always_ff @(posedge clk_i) begin
        if (shift_i) waiting_q <= below;
        if (swap_i) present_q <= waiting_q;
        if (late_swaps[r]) weight_q <= present_q;
      end
      mac #(.FAMILY(FAMILY), .A_WIDTH(WIDTH), .B_WIDTH(WIDTH), .P_WIDTH(SW)) product (
        .clk_i, .first_i(1'b0), .a_i(weight_q), .b_i(skewed[WIDTH*r+:WIDTH]), .c_i(above), .p_o(sum)
      );
    end
    assign sums_o[SW*c+:SW] = gen_row[ROWS-1].sum;
  end
endmodule
