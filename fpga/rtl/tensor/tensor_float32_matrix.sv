// The matrix in float32: a vector of LANES / 4 activations a cycle times a tile of as many rows and columns that stays. A vector
// goes to all columns and rows at once. The next tile is shifted in behind the present one and takes its place with the vector
// that says so, without a gap.
module tensor_float32_matrix #(
  parameter int LANES  = 16,
  parameter int FAMILY = 1,
  parameter int ROWS   = LANES / 4,
  parameter int SW     = 28 + $clog2(ROWS)
) (
  input  logic               clk_i,
  input  logic [8*LANES-1:0] activations_i,
  input  logic               swap_i,       // the waiting weights begin with this vector
  // Rows of a tile, the first one for channel 0. The last row comes before swap_i, the first row of the next tile not before it.
  input  logic               shift_i,
  input  logic [8*LANES-1:0] weights_i,
  // LEVELS + 6 cycles behind the vector, for LEVELS of tensor_float32_column: column by column.
  output logic [SW*ROWS-1:0] sums_o,
  output logic [10*ROWS-1:0] exponents_o,
  output logic [ROWS-1:0]    special_o
);
  // {special, mantissa with its sign, exponent}; the mantissa of a subnormal number is 0.
  function automatic logic [33:0] split(input logic [31:0] value);
    logic [24:0] size;
    size  = value[30:23] != '0 ? {2'b01, value[22:0]} : '0;
    split = {value[30:23] == '1, (size ^ {25{value[31]}}) + 25'(value[31]), value[30:23]};
  endfunction

  logic [8*ROWS-1:0]  exponents_q;
  logic [25*ROWS-1:0] mantissas_q, mantissas_qq;
  logic [ROWS-1:0]    specials_q;
  for (genvar r = 0; r < ROWS; r++) begin : gen_row
    always_ff @(posedge clk_i) begin
      {specials_q[r], mantissas_q[25*r+:25], exponents_q[8*r+:8]} <= split(activations_i[32*r+:32]);
    end
  end
  always_ff @(posedge clk_i) mantissas_qq <= mantissas_q;

  for (genvar c = 0; c < ROWS; c++) begin : gen_column
    tensor_float32_column #(.ROWS(ROWS), .FAMILY(FAMILY)) column (
      .clk_i, .exponents_i(exponents_q), .mantissas_i(mantissas_q), .late_mantissas_i(mantissas_qq),
      .special_i(specials_q != '0), .shift_i, .weight_i(split(weights_i[32*c+:32])), .swap_i,
      .sum_o(sums_o[SW*c+:SW]), .exponent_o(exponents_o[10*c+:10]), .special_o(special_o[c])
    );
  end
endmodule
