// Layer 1, INT8: PARALLEL inputs of two outputs per cycle, column by column of the weight matrix, so that the
// first outputs are ready early and the next layer can start. Two outputs leave one after the other every
// INPUTS / PARALLEL cycles, and one adder tree serves both; rectified and requantised.
module dense_dual #(
  parameter int FAMILY   = 2,
  parameter int INPUTS   = 1024,
  parameter int OUTPUTS  = 200,
  parameter int PARALLEL = 512,
  parameter int PHASES   = INPUTS / PARALLEL,
  parameter int ROWS     = OUTPUTS / 2 * PHASES,
  parameter int RW       = $clog2(ROWS),
  parameter int PW       = $clog2(PHASES),
  parameter int WW       = $clog2(PARALLEL / 4),
  parameter int IW       = $clog2(INPUTS / 8)
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic [5:0]         shift_i,
  // Word k of the features: inputs 8k…8k+7.
  input  logic               feature_valid_i,
  input  logic               feature_bank_i,
  input  logic [IW-1:0]      feature_word_i,
  input  logic [63:0]        features_i,
  input  logic               write_valid_i,
  input  logic [RW-1:0]      write_row_i,
  input  logic [WW-1:0]      write_word_i,
  input  logic [63:0]        write_data_i,
  // Row by row from 0 to ROWS - 1, without a pause.
  input  logic               row_valid_i,
  input  logic [RW-1:0]      row_i,
  input  logic               bank_i,
  output logic signed [15:0] result_o,
  output logic               result_valid_o
);
  localparam int LANES  = PARALLEL / 8;
  localparam int OFFSET = FAMILY == 1 ? 17 : 18;
  localparam int LEAVES = LANES * PHASES * (FAMILY == 1 ? 2 : 1);  // eight DSPs of a lane in groups of GROUP
  localparam int LEVELS = $clog2(LEAVES);
  localparam int STAGES = (LEVELS + 1) / 2;
  if (PHASES < 2 || PHASES * PARALLEL != INPUTS || 8 * LANES != PARALLEL) $error("PARALLEL does not fit INPUTS");
  if (OFFSET + LEVELS > 32) $error("the sum does not fit 32 bits");

  logic [PW-1:0] phase;
  logic          phase_first, phase_last;
  assign phase       = row_i[PW-1:0];
  assign phase_first = row_valid_i && phase == '0;
  assign phase_last  = row_valid_i && phase == '1;
  if ((1 << PW) != PHASES) $error("PHASES is not a power of two");

  // Row → weights 1 → DSP 3 → sum of a group 1 → tree → requantised 2.
  localparam int SUMS = 5;
  logic first, sums_done, result_low, result_high;
  delay #(.CYCLES(3)) first_delay (.clk_i, .rst_ni, .bit_i(phase_first), .bit_o(first));
  delay #(.CYCLES(SUMS)) sums_delay (.clk_i, .rst_ni, .bit_i(phase_last), .bit_o(sums_done));
  delay #(.CYCLES(STAGES + 2)) low_delay (.clk_i, .rst_ni, .bit_i(sums_done), .bit_o(result_low));
  delay #(.CYCLES(1)) high_delay (.clk_i, .rst_ni, .bit_i(result_low), .bit_o(result_high));
  assign result_valid_o = result_low || result_high;

  logic [PW:0] phase_q;
  always_ff @(posedge clk_i) phase_q <= {bank_i, phase};

  // yosys 0.23 does not cut a cast inside a concatenation to its width: use slices.
  logic [PW-1:0]    feature_phase;
  logic [IW-PW-1:0] feature_lane;
  assign {feature_phase, feature_lane} = feature_word_i;
  if (LANES < 2 || (1 << (IW - PW)) != LANES) $error("PARALLEL / 8 is not a power of two");

  logic [LEAVES*OFFSET-1:0] leaves;
  for (genvar l = 0; l < LANES; l++) begin : gen_lane
    localparam int SUM_BITS = LEAVES / LANES * OFFSET;
    dual_mac_lane #(.FAMILY(FAMILY), .PHASES(PHASES), .ROWS(ROWS)) lane (
      .clk_i,
      .feature_valid_i(feature_valid_i && 32'(feature_lane) == l),
      .feature_address_i({feature_bank_i, feature_phase}),
      .features_i,
      .write_valid_i({write_valid_i && 32'(write_word_i) == 2 * l + 1, write_valid_i && 32'(write_word_i) == 2 * l}),
      .write_row_i, .write_data_i, .row_i, .phase_i(phase_q), .first_i(first),
      .select_low_i(sums_done), .sums_o(leaves[SUM_BITS*l+:SUM_BITS])
    );
  end

  logic signed [OFFSET+LEVELS-1:0] sum;
  adder_tree #(.LEAVES(LEAVES), .WIDTH(OFFSET)) tree (.clk_i, .leaves_i(leaves), .sum_o(sum));
  requantise #(.WIDTH(32)) requantiser (.clk_i, .shift_i, .value_i(32'(sum)), .result_o);
endmodule
