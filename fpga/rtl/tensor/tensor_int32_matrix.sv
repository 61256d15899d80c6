// The matrix in int32: a vector of LANES / 4 activations a cycle times a tile of as many rows and columns that stays. Four
// matrices multiply the halves of the factors; the lower halves have no sign. Vectors and tiles follow as in int16.
module tensor_int32_matrix #(
  parameter int LANES  = 16,
  parameter int FAMILY = 1,
  parameter int ROWS   = LANES / 4,
  parameter int SW     = 64 + $clog2(ROWS)
) (
  input  logic               clk_i,
  input  logic [8*LANES-1:0] activations_i,
  input  logic               swap_i,       // the waiting weights begin with this vector
  // Rows of a tile, as tensor_int16_matrix takes them.
  input  logic               shift_i,
  input  logic [8*LANES-1:0] weights_i,
  // ROWS + 7 cycles behind the vector: column by column.
  output logic [SW*ROWS-1:0] sums_o
);
  localparam int HW = 34 + $clog2(ROWS);

  function automatic logic [17*ROWS-1:0] half(input logic [8*LANES-1:0] values, input logic upper);
    for (int i = 0; i < ROWS; i++) begin
      half[17*i+:17] = upper ? {values[32*i+31], values[32*i+16+:16]} : {1'b0, values[32*i+:16]};
    end
  endfunction

  logic [HW*ROWS-1:0] halves[4];  // {upper weight, upper activation}
  for (genvar i = 0; i < 4; i++) begin : gen_half
    tensor_int16_matrix #(.WIDTH(17), .ROWS(ROWS), .FAMILY(FAMILY)) matrix (
      .clk_i, .activations_i(half(activations_i, i % 2 == 1)), .swap_i, .shift_i, .weights_i(half(weights_i, i / 2 == 1)),
      .sums_o(halves[i])
    );
  end

  for (genvar c = 0; c < ROWS; c++) begin : gen_sum
    logic signed [HW-1:0]  lower_q, upper_q, upper_qq;
    logic signed [HW:0]    middle_q;
    logic signed [HW+17:0] part_q;
    logic signed [SW-1:0]  sum_q;
    always_ff @(posedge clk_i) begin
      lower_q  <= halves[0][HW*c+:HW];
      middle_q <= (HW + 1)'(signed'(halves[1][HW*c+:HW])) + (HW + 1)'(signed'(halves[2][HW*c+:HW]));
      upper_q  <= halves[3][HW*c+:HW];
      part_q   <= (HW + 18)'(lower_q) + ((HW + 18)'(middle_q) <<< 16);
      upper_qq <= upper_q;
      sum_q    <= SW'(part_q) + (SW'(upper_qq) <<< 32);
    end
    assign sums_o[SW*c+:SW] = sum_q;
  end
endmodule
