// The matrix in bfloat16: a vector of LANES / 2 activations a cycle times a tile of as many rows and columns that stays. The
// next tile is shifted in behind the present one and takes its place with the vector that says so, without a gap.
module tensor_bfloat_matrix #(
  parameter int LANES  = 16,
  parameter int FAMILY = 1,
  parameter int ROWS   = LANES / 2,
  parameter int SW     = 27 + $clog2(ROWS)
) (
  input  logic               clk_i,
  input  logic [8*LANES-1:0] activations_i,
  input  logic               swap_i,       // the waiting weights begin with this vector
  // Rows of a tile, the first one for channel 0. The last row comes before swap_i, the first row of the next tile not before it.
  input  logic               shift_i,
  input  logic [8*LANES-1:0] weights_i,
  // LEVELS + ROWS + 5 cycles behind the vector, for LEVELS of tensor_bfloat_column: column by column.
  output logic [SW*ROWS-1:0] sums_o,
  output logic [10*ROWS-1:0] exponents_o,
  output logic [ROWS-1:0]    special_o
);
  localparam int LEVELS = ($clog2(ROWS) + 1) / 2;

  // {special, sign, mantissa, exponent}; the mantissa of a subnormal number is 0.
  function automatic logic [17:0] split(input logic [15:0] value);
    logic normal;
    normal = value[14:7] != '0;
    split  = {value[14:7] == '1, value[15], normal, normal ? value[6:0] : 7'd0, value[14:7]};
  endfunction

  logic [8*ROWS-1:0] exponents_q;
  logic [9*ROWS-1:0] mantissas_q, mantissas;
  logic [ROWS-1:0]   specials_q, zeros, late_swaps;
  for (genvar r = 0; r < ROWS; r++) begin : gen_row
    always_ff @(posedge clk_i) begin
      {specials_q[r], mantissas_q[9*r+:9], exponents_q[8*r+:8]} <= split(activations_i[16*r+:16]);
    end
    assign zeros[r] = ~mantissas_q[9*r+7];
    delay_line #(.WIDTH(9), .DEPTH(LEVELS + 2 + r)) skew (
      .clk_i, .en_i(1'b1), .data_i(mantissas_q[9*r+:9]), .data_o(mantissas[9*r+:9])
    );
    delay_line #(.WIDTH(1), .DEPTH(LEVELS + 2 + r)) late_swap (
      .clk_i, .en_i(1'b1), .data_i(swap_i), .data_o(late_swaps[r])
    );
  end

  for (genvar c = 0; c < ROWS; c++) begin : gen_column
    tensor_bfloat_column #(.ROWS(ROWS), .FAMILY(FAMILY)) column (
      .clk_i, .exponents_i(exponents_q), .zeros_i(zeros), .special_i(specials_q != '0), .mantissas_i(mantissas),
      .shift_i, .weight_i(split(weights_i[16*c+:16])), .swap_i, .late_swap_i(late_swaps),
      .sum_o(sums_o[SW*c+:SW]), .exponent_o(exponents_o[10*c+:10]), .special_o(special_o[c])
    );
  end
endmodule
