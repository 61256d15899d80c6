// The 3-10-2 network of [BEACON], bit for bit as fpga/model/beacon_model.h: inputs, hidden values and outputs Q1.10,
// weights Q8.8. A sample every five cycles: two hidden neurons a cycle in two chains of three multipliers, their tansig
// from both ports of one table, and four accumulators for the two outputs. Outputs come 18 cycles after their inputs
// were taken. Nothing stops the pipeline: give it a sample only if there is room for its outputs.
module beacon_network #(
  parameter int FAMILY = 2,  // 1: DSP48E1, 2: DSP48E2
  parameter ROM        = "tansig.hex"
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [3:0]  write_lanes_i,  // weights, as beacon_weights; nothing may be computed
  input  logic [3:0]  write_word_i,
  input  logic [63:0] write_data_i,
  input  logic        read_i,
  input  logic [3:0]  read_word_i,
  output logic [63:0] read_data_o,
  input  logic [32:0] inputs_i,       // 11 bits each
  input  logic        inputs_valid_i,
  output logic        inputs_ready_o,
  output logic [21:0] outputs_o,
  output logic        outputs_valid_o
);
  localparam logic [2:0] LAST_PAIR = 3'd4, FIRST_ROW = 3'd2, LAST_ROW = 3'd6;

  // Five cycles of a sample. Inputs 1 and 2 and their weights follow by one and two cycles.
  logic        busy_q, take;
  logic [2:0]  pair_q, pair_qq, pair_qqq;
  logic [32:0] inputs_q;
  logic [21:0] inputs_qq;   // inputs 1 and 2
  logic [10:0] inputs_qqq;  // input 2
  assign inputs_ready_o = !busy_q || pair_q == LAST_PAIR;
  assign take           = inputs_valid_i && inputs_ready_o;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) busy_q <= 1'b0;
    else if (inputs_ready_o) busy_q <= inputs_valid_i;
    pair_q <= take ? '0 : pair_q + 3'd1;
    if (take) inputs_q <= inputs_i;
    pair_qq    <= pair_q;
    pair_qqq   <= pair_qq;
    inputs_qq  <= inputs_q[32:11];
    inputs_qqq <= inputs_qq[21:11];
  end

  logic [127:0] hidden_weights;
  logic [63:0]  output_weights;
  logic [31:0]  output_biases;
  logic [2:0]   row_q;
  beacon_weights weights (
    .clk_i, .write_lanes_i, .write_word_i, .write_data_i, .read_i, .read_word_i, .read_data_o,
    .pair_0_i(pair_q), .pair_1_i(pair_qq), .pair_2_i(pair_qqq), .hidden_o(hidden_weights),
    .row_i(row_q), .outputs_o(output_weights), .biases_o(output_biases)
  );

  logic [57:0] sums;
  for (genvar n = 0; n < 2; n++) begin : gen_neuron
    beacon_neuron #(.FAMILY(FAMILY)) neuron (
      .clk_i, .inputs_i({inputs_qqq, inputs_qq[10:0], inputs_q[10:0]}), .weights_i(hidden_weights[64*n+:48]),
      .bias_i(hidden_weights[64*n+48+:16]), .sum_o(sums[29*n+:29])
    );
  end
  logic signed [10:0] hidden_0, hidden_1;
  beacon_tansig #(.ROM(ROM)) tansig (
    .clk_i, .sum_0_i(sums[28:0]), .sum_1_i(sums[57:29]), .value_0_o(hidden_0), .value_1_o(hidden_1)
  );

  // Five for the sum, three for tansig.
  logic hidden_valid, first, last;
  delay #(.CYCLES(8)) hidden_delay (.clk_i, .rst_ni, .bit_i(busy_q), .bit_o(hidden_valid));
  always_ff @(posedge clk_i) begin
    if (!rst_ni) row_q <= FIRST_ROW;
    else if (hidden_valid) row_q <= row_q == LAST_ROW ? FIRST_ROW : row_q + 3'd1;
  end
  delay #(.CYCLES(2)) first_delay (.clk_i, .rst_ni, .bit_i(row_q == FIRST_ROW), .bit_o(first));
  delay #(.CYCLES(5)) last_delay (.clk_i, .rst_ni, .bit_i(hidden_valid && row_q == LAST_ROW), .bit_o(last));
  assign outputs_valid_o = last;

  for (genvar o = 0; o < 2; o++) begin : gen_output
    beacon_output #(.FAMILY(FAMILY)) linear (
      .clk_i, .first_i(first), .values_i({hidden_1, hidden_0}), .weights_i(output_weights[32*o+:32]),
      .bias_i(output_biases[16*o+:16]), .output_o(outputs_o[11*o+:11])
    );
  end
endmodule
