// Eight inputs of layer 1: their features, their weights for two outputs at a time, and eight DSPs, each of which
// computes both products of a feature in one multiplication.
//
// The A port holds w1·2^OFFSET + w0. The sum of n such products by x is Σ w1·x · 2^OFFSET + Σ w0·x, and both fields can
// be told apart as long as the lower one fits OFFSET bits. Weights are ±127, features -128…127: 4 products fit 17 bits,
// 8 fit 18. A DSP48E1's 25-bit port takes an offset of 17, a DSP48E2's 27-bit port one of 18 (Xilinx WP486).
//
// A DSP sums PHASES products; the sums of GROUP DSPs are added before the fields are split.
module dual_mac_lane #(
  parameter int FAMILY = 2,
  parameter int PHASES = 2,                             // rows per pair of outputs: inputs / parallel inputs
  parameter int ROWS   = 200,                           // pairs of outputs × PHASES
  parameter int OFFSET = FAMILY == 1 ? 17 : 18,
  parameter int GROUP  = (FAMILY == 1 ? 4 : 8) / PHASES,
  parameter int RW     = $clog2(ROWS),
  parameter int PW     = $clog2(PHASES)
) (
  input  logic                      clk_i,
  // Features: 8 bytes, of one phase of one of two banks.
  input  logic                      feature_valid_i,
  input  logic [PW:0]               feature_address_i,  // {bank, phase}
  input  logic [63:0]               features_i,
  // Weights: two words of four pairs {w1 - (w0 < 0), w0}.
  input  logic [1:0]                write_valid_i,
  input  logic [RW-1:0]             write_row_i,
  input  logic [63:0]               write_data_i,
  // One row per cycle.
  input  logic [RW-1:0]             row_i,
  input  logic [PW:0]               phase_i,            // {bank, phase}, one cycle after row_i
  input  logic                      first_i,            // three cycles after the row of phase 0
  // The sums appear five cycles after the row of the last phase; select_low_i is high then, in the next cycle low.
  input  logic                      select_low_i,
  output logic [(8/GROUP)*OFFSET-1:0] sums_o
);
  localparam int AW = OFFSET + 8;
  localparam int SW = AW + 8 + $clog2(PHASES);
  localparam int GW = SW + $clog2(GROUP);
  if (GROUP < 1 || GROUP * PHASES > (FAMILY == 1 ? 4 : 8)) $error("the sum would leave its field");

  // Asynchronously read: distributed RAM, whose output register is the DSP's own.
  logic [63:0] feature_memory[2*PHASES];
  logic [63:0] features;
  assign features = feature_memory[phase_i];
  always_ff @(posedge clk_i) if (feature_valid_i) feature_memory[feature_address_i] <= features_i;

  logic [127:0] weights;
  for (genvar w = 0; w < 2; w++) begin : gen_weights
    weight_memory #(.WIDTH(64), .DEPTH(ROWS)) row_memory (
      .clk_i, .write_valid_i(write_valid_i[w]), .write_row_i, .write_word_i(1'b0), .write_data_i,
      .row_i, .row_o(weights[64*w+:64])
    );
  end

  logic [8*SW-1:0] products;
  for (genvar i = 0; i < 8; i++) begin : gen_mac
    logic [7:0] upper, lower;
    assign {upper, lower} = weights[16*i+:16];
    // The load lowered the upper weight by one where the lower one is negative, so joining them needs no
    // logic.
    mac #(.FAMILY(FAMILY), .A_WIDTH(AW), .B_WIDTH(8), .P_WIDTH(SW), .ACCUMULATE(1'b1)) dual (
      .clk_i, .first_i,
      .a_i({upper, {(OFFSET - 8) {lower[7]}}, lower}),
      .b_i(features[8*i+:8]),
      .c_i('0), .p_o(products[SW*i+:SW])
    );
  end

  for (genvar g = 0; g < 8 / GROUP; g++) begin : gen_group
    logic signed [GW-1:0] sum_d, sum_q;
    always_comb begin
      sum_d = '0;
      for (int i = 0; i < GROUP; i++) sum_d = sum_d + GW'(signed'(products[SW*(g*GROUP+i)+:SW]));
    end
    // The lower field's sign was borrowed from the upper field.
    logic [OFFSET-1:0] upper_q;
    always_ff @(posedge clk_i) begin
      sum_q   <= sum_d;
      upper_q <= OFFSET'(sum_q >>> OFFSET) + OFFSET'(sum_q[OFFSET-1]);
    end
    assign sums_o[OFFSET*g+:OFFSET] = select_low_i ? sum_q[OFFSET-1:0] : upper_q;
  end
endmodule
