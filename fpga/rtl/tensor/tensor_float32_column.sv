// One column of the float32 matrix: the products of ROWS activations and the column's weights as one sum in fixed point.
// fpga/model/tensor_float32.h defines the arithmetic (1 and 2 there): two DSPs multiply exactly while the largest exponent of the
// products is found; then the products are shifted to it and added.
module tensor_float32_column #(
  parameter int ROWS   = 4,                       // at most 8
  parameter int FAMILY = 1,
  parameter int LEVELS = ($clog2(ROWS) + 1) / 2,  // cycles to find the largest exponent, and to add
  parameter int SW     = 28 + $clog2(ROWS)
) (
  input  logic                 clk_i,
  // Activations, all with a vector's first cycle here.
  input  logic [8*ROWS-1:0]    exponents_i,
  input  logic [25*ROWS-1:0]   mantissas_i,       // with their signs
  input  logic [25*ROWS-1:0]   late_mantissas_i,  // the same one cycle later
  input  logic                 special_i,         // one of them is infinite or NaN
  // Weights {special, mantissa with its sign, exponent} enter at the last row and move up one row with each shift.
  input  logic                 shift_i,
  input  logic [33:0]          weight_i,
  input  logic                 swap_i,            // the waiting weights begin with the next cycle's activations
  // LEVELS + 5 cycles behind the activations: the sum in units of 2^(exponent - 156).
  output logic signed [SW-1:0] sum_o,
  output logic signed [9:0]    exponent_o,
  output logic                 special_o
);
  localparam int LOW  = 17;  // bits of a weight for the first DSP
  localparam int PW   = 31;  // of a product, with its sign
  localparam int DROP = 3;   // lowest bits of the sum

  logic [9*ROWS-1:0]  exponents_q;  // of the products, 0 for a product of zero
  logic [PW*ROWS-1:0] aligned_q;
  logic [ROWS-1:0]    specials;
  logic [8:0]         largest;
  tensor_float_largest #(.LEAVES(ROWS), .WIDTH(9)) group_exponent (
    .clk_i, .leaves_i(exponents_q), .largest_o(largest)
  );
  // As the exponent of an accumulator with the same unit.
  logic signed [9:0] exponent_q;
  always_ff @(posedge clk_i) exponent_q <= 10'(largest) - 10'sd123;
  delay_line #(.WIDTH(10), .DEPTH(3)) exponent_delay (.clk_i, .en_i(1'b1), .data_i(exponent_q), .data_o(exponent_o));
  delay_line #(.WIDTH(1), .DEPTH(LEVELS + 5)) special_delay (
    .clk_i, .en_i(1'b1), .data_i(special_i | (specials != '0)), .data_o(special_o)
  );

  for (genvar r = 0; r < ROWS; r++) begin : gen_row
    logic [33:0] waiting_q, weight_q, below;
    if (r == ROWS - 1) begin : gen_enter
      assign below = weight_i;
    end else begin : gen_move
      assign below = gen_row[r+1].waiting_q;
    end
    always_ff @(posedge clk_i) begin
      if (shift_i) waiting_q <= below;
      if (swap_i) weight_q <= waiting_q;
    end
    assign specials[r] = weight_q[33];

    // A factor of zero has no part in the largest exponent.
    wire [7:0] activation = exponents_i[8*r+:8] & {8{weight_q[7:0] != '0}};
    wire [7:0] weight     = weight_q[7:0] & {8{exponents_i[8*r+:8] != '0}};
    always_ff @(posedge clk_i) exponents_q[9*r+:9] <= 9'(activation) + 9'(weight);

    // How far below the largest one a product lies; 31 leaves nothing but the sign. It is known with the product.
    logic [8:0] exponent, distance;
    logic [4:0] distance_q, shift;
    delay_line #(.WIDTH(9), .DEPTH(LEVELS)) distance_delay (
      .clk_i, .en_i(1'b1), .data_i(exponents_q[9*r+:9]), .data_o(exponent)
    );
    assign distance = largest - exponent;
    always_ff @(posedge clk_i) distance_q <= distance[8:5] != '0 ? 5'd31 : distance[4:0];
    delay_line #(.WIDTH(5), .DEPTH(2 - LEVELS)) wait_product (.clk_i, .en_i(1'b1), .data_i(distance_q), .data_o(shift));

    // The product: the lower bits of the weight, and one cycle later the upper ones with the sign. Its lowest 18 bits are cut.
    logic signed [7:0]      upper_q;
    logic signed [LOW+25:0] lower;
    logic signed [32:0]     product;
    always_ff @(posedge clk_i) upper_q <= weight_q[8+LOW+:8];
    mac #(.FAMILY(FAMILY), .A_WIDTH(25), .B_WIDTH(LOW + 1), .P_WIDTH(LOW + 26)) lower_product (
      .clk_i, .first_i(1'b0), .a_i(mantissas_i[25*r+:25]), .b_i({1'b0, weight_q[8+:LOW]}), .c_i('0), .p_o(lower)
    );
    mac #(.FAMILY(FAMILY), .A_WIDTH(25), .B_WIDTH(8), .P_WIDTH(33)) upper_product (
      .clk_i, .first_i(1'b0), .a_i(late_mantissas_i[25*r+:25]), .b_i(upper_q), .c_i(33'(lower >>> LOW)), .p_o(product)
    );
    wire signed [PW-1:0] kept    = product[PW:1];
    wire signed [PW-1:0] aligned = kept >>> shift;
    always_ff @(posedge clk_i) aligned_q[PW*r+:PW] <= aligned;
    wire unused_product = &{1'b0, product};
  end

  logic [PW+$clog2(ROWS)-1:0] total;
  adder_tree #(.LEAVES(ROWS), .WIDTH(PW)) sum (.clk_i, .leaves_i(aligned_q), .sum_o(total));
  assign sum_o = total[DROP+:SW];
  wire unused = &{1'b0, total};
endmodule
