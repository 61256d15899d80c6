// One column of the bfloat16 matrix: the products of ROWS activations and the column's weights as one sum in fixed point.
// fpga/model/tensor_bfloat.h defines the arithmetic (1 and 2 there): activations are shifted to the largest exponent of the
// products before they are multiplied, so that the sums move down a chain of DSPs without another shift.
module tensor_bfloat_column #(
  parameter int ROWS   = 8,
  parameter int FAMILY = 1,
  parameter int LEVELS = ($clog2(ROWS) + 1) / 2,  // cycles to find the largest exponent
  parameter int SW     = 27 + $clog2(ROWS)
) (
  input  logic                   clk_i,
  // Activations: exponents with a vector's first cycle here, {sign, mantissa} of row r LEVELS + 2 + r cycles behind.
  input  logic [8*ROWS-1:0]      exponents_i,
  input  logic [ROWS-1:0]        zeros_i,       // with the exponents, which then are 0
  input  logic                   special_i,     // one of them is infinite or NaN
  input  logic [9*ROWS-1:0]      mantissas_i,
  // Weights {special, sign, mantissa, exponent} enter at the last row and move up one row with each shift.
  input  logic                   shift_i,
  input  logic [17:0]            weight_i,
  input  logic                   swap_i,        // the waiting weights begin with the next cycle's exponents
  input  logic [ROWS-1:0]        late_swap_i,   // their mantissas follow: row r with the next cycle's mantissa r
  // LEVELS + ROWS + 4 cycles behind the exponents: the sum in units of 2^(exponent - 156).
  output logic signed [SW-1:0]   sum_o,
  output logic signed [9:0]      exponent_o,
  output logic                   special_o
);
  localparam int AW   = 25;  // an activation's mantissa with 16 more bits, positive
  localparam int PW   = AW + 9 + $clog2(ROWS);
  localparam int DROP = 6;   // lowest bits of the sum

  logic [9*ROWS-1:0] exponents_q;     // of the products, 0 for a product of zero
  logic [ROWS-1:0]   specials;
  logic [8:0]        largest;
  tensor_float_largest #(.LEAVES(ROWS), .WIDTH(9)) group_exponent (
    .clk_i, .leaves_i(exponents_q), .largest_o(largest)
  );
  // As the exponent of an accumulator with the same unit.
  logic signed [9:0] exponent_q;
  always_ff @(posedge clk_i) exponent_q <= 10'(largest) - 10'sd122;
  delay_line #(.WIDTH(10), .DEPTH(ROWS + 2)) exponent_delay (
    .clk_i, .en_i(1'b1), .data_i(exponent_q), .data_o(exponent_o)
  );
  delay_line #(.WIDTH(1), .DEPTH(LEVELS + ROWS + 4)) special_delay (
    .clk_i, .en_i(1'b1), .data_i(special_i | (specials != '0)), .data_o(special_o)
  );

  for (genvar r = 0; r < ROWS; r++) begin : gen_row
    logic [17:0] waiting_q, weight_q, below;
    logic [8:0]  mantissa_q;
    if (r == ROWS - 1) begin : gen_enter
      assign below = weight_i;
    end else begin : gen_move
      assign below = gen_row[r+1].waiting_q;
    end
    always_ff @(posedge clk_i) begin
      if (shift_i) waiting_q <= below;
      if (swap_i) weight_q <= waiting_q;
      if (late_swap_i[r]) mantissa_q <= weight_q[16:8];
    end
    assign specials[r] = weight_q[17];

    // A factor of zero has no part in the largest exponent. The highest bit of a mantissa is 0 for zero only.
    wire [7:0] activation = exponents_i[8*r+:8] & {8{weight_q[15]}};
    wire [7:0] weight     = weight_q[7:0] & {8{~zeros_i[r]}};
    always_ff @(posedge clk_i) exponents_q[9*r+:9] <= 9'(activation) + 9'(weight);

    // How far below the largest one a product lies; 31 leaves nothing.
    logic [8:0] exponent, distance;
    logic [4:0] distance_q, shift;
    delay_line #(.WIDTH(9), .DEPTH(LEVELS)) distance_delay (
      .clk_i, .en_i(1'b1), .data_i(exponents_q[9*r+:9]), .data_o(exponent)
    );
    assign distance = largest - exponent;
    always_ff @(posedge clk_i) distance_q <= distance[8:5] != '0 ? 5'd31 : distance[4:0];
    delay_line #(.WIDTH(5), .DEPTH(r)) skew (.clk_i, .en_i(1'b1), .data_i(distance_q), .data_o(shift));

    // The first factor is the activation without its sign, moved by steps of one and four bits. The second one has both signs.
    logic signed [AW-1:0] shifted;
    logic signed [8:0]    factor;
    logic signed [PW-1:0] above, sum;
    logic [10:0]          fine;
    logic [23:0]          coarse;
    wire [7:0] size  = mantissas_i[9*r+:8];
    wire       minus = mantissas_i[9*r+8] ^ mantissa_q[8];
    always_comb begin
      unique case (shift[1:0])
        2'd0:    fine = {size, 3'd0};
        2'd1:    fine = {1'd0, size, 2'd0};
        2'd2:    fine = {2'd0, size, 1'd0};
        default: fine = {3'd0, size};
      endcase
      unique case (shift[4:2])
        3'd0:    coarse = {fine, 13'd0};
        3'd1:    coarse = {4'd0, fine, 9'd0};
        3'd2:    coarse = {8'd0, fine, 5'd0};
        3'd3:    coarse = {12'd0, fine, 1'd0};
        3'd4:    coarse = {16'd0, fine[10:3]};
        3'd5:    coarse = {20'd0, fine[10:7]};
        default: coarse = '0;
      endcase
    end
    assign shifted = {1'b0, coarse};
    assign factor  = ({1'b0, mantissa_q[7:0]} ^ {9{minus}}) + {8'd0, minus};
    if (r == 0) begin : gen_first
      assign above = '0;
    end else begin : gen_next
      assign above = gen_row[r-1].sum;
    end
    mac #(.FAMILY(FAMILY), .A_WIDTH(AW), .B_WIDTH(9), .P_WIDTH(PW)) product (
      .clk_i, .first_i(1'b0), .a_i(shifted), .b_i(factor), .c_i(above), .p_o(sum)
    );
  end
  wire [PW-1:0] total = gen_row[ROWS-1].sum;
  wire unused = &{1'b0, total};
  assign sum_o = total[DROP+:SW];
endmodule
