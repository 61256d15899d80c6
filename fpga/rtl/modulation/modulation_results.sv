// Turns the sums of a pass into results, one output channel per cycle: scale, offset, rectify, pool, store. The
// last pass of a program gives its logits instead, each from the sum of the first positions.
//
// A channel has a word: bits 17…0 the multiplier (not negative), 63…18 the offset. As Int8Layer of fpga/model/modulation_int8.h.
module modulation_results #(
  parameter int FAMILY    = 2,
  parameter int CHANNELS  = 16,   // of a pass: at most 32
  parameter int SCALES    = 256,  // channels of all layers
  parameter int CLASSES   = 10,
  parameter int POSITIONS = 16
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic                    write_valid_i,
  input  logic [7:0]              write_row_i,
  input  logic [63:0]             write_data_i,
  // A pass is finished: its sums come in the next CHANNELS cycles. Not earlier than so many after the pass before.
  input  logic                    start_i,
  input  logic [POSITIONS*24-1:0] sums_i,
  input  logic [7:0]              pass_scale_i,
  input  logic [8:0]              pass_address_i,
  input  logic [3:0]              pass_stride_i,
  input  logic [3:0]              pass_sum_i,
  input  logic                    pass_pool_i,
  input  logic                    pass_half_i,
  input  logic                    pass_layer_i,
  input  logic                    pass_logits_i,
  output logic [1:0]              result_valid_o,
  output logic [8:0]              result_address_o,
  output logic [127:0]            result_data_o,
  output logic                    written_o,        // the first result of a layer's last pass is being stored
  output logic signed [15:0]      logit_o,
  output logic                    logit_valid_o
);
  // Sums in → registered 1 → DSP 3 → word 1. A logit's sum takes TREE cycles more.
  localparam int STAGES = 5;
  localparam int TREE   = ($clog2(POSITIONS) + 1) / 2;

  // The channel of the sums, of the words and of the logits, and whether there is one.
  logic       words_start, logits_start, sums_valid, words_valid, logits_valid, words_first, unused_first;
  logic [4:0] sums_channel, unused_channel, logits_channel;
  delay #(.CYCLES(STAGES)) words_delay (.clk_i, .rst_ni, .bit_i(start_i), .bit_o(words_start));
  delay #(.CYCLES(TREE)) logits_delay (.clk_i, .rst_ni, .bit_i(words_start), .bit_o(logits_start));
  modulation_count #(.COUNT(CHANNELS)) sums_count (
    .clk_i, .rst_ni, .start_i, .valid_o(sums_valid), .first_o(unused_first), .count_o(sums_channel)
  );
  modulation_count #(.COUNT(CHANNELS)) words_count (
    .clk_i, .rst_ni, .start_i(words_start), .valid_o(words_valid), .first_o(words_first), .count_o(unused_channel)
  );
  modulation_count #(.COUNT(CLASSES)) logits_count (
    .clk_i, .rst_ni, .start_i(logits_start), .valid_o(logits_valid), .first_o(unused_logit), .count_o(logits_channel)
  );
  logic unused_logit, unused_counts;
  assign unused_counts = ^{sums_valid, unused_first, unused_channel, unused_logit, logits_channel};

  // The pass of the sums.
  logic [7:0] scale_q;
  logic [3:0] sum_q;
  always_ff @(posedge clk_i) begin
    if (start_i) {scale_q, sum_q} <= {pass_scale_i, pass_sum_i};
  end
  logic [63:0] scale;
  weight_memory #(.WIDTH(64), .DEPTH(SCALES)) scales (
    .clk_i, .write_valid_i, .write_row_i, .write_word_i(1'b0), .write_data_i, .row_i(scale_q + 8'(sums_channel)),
    .row_o(scale)
  );
  // Exactly as wide as the sum of 46 bits and a product: yosys 0.23 loses the upper bits of a wider one.
  localparam int SW = 47;
  logic signed [SW-1:0] offset, offset_q, offset_qq;
  assign offset = SW'(signed'(scale[63:18]));

  logic [POSITIONS*24-1:0] sums_q;
  always_ff @(posedge clk_i) begin
    sums_q    <= sums_i;
    offset_q  <= offset;
    offset_qq <= offset_q;
  end

  // A word is 0 … 127.
  logic [POSITIONS*8-1:0] words_q;
  for (genvar p = 0; p < POSITIONS; p++) begin : gen_position
    logic signed [SW-1:0] scaled;
    logic                 over, unused_fraction;
    mac #(.FAMILY(FAMILY), .A_WIDTH(24), .B_WIDTH(18), .P_WIDTH(SW)) scaler (
      .clk_i, .first_i(1'b0), .a_i(sums_q[24*p+:24]), .b_i(scale[17:0]), .c_i(offset_qq), .p_o(scaled)
    );
    assign over            = scaled[SW-2:31] != '0;
    assign unused_fraction = ^scaled[23:0];
    always_ff @(posedge clk_i) words_q[8*p+:8] <= scaled[SW-1] ? '0 : {1'b0, scaled[30:24] | {7{over}}};
  end

  // A logit has 16 bits, 8 of them a fraction of a word's unit. Its sum fits 24 bits, as any layer's does.
  logic [POSITIONS*24-1:0]          terms;
  logic signed [24+$clog2(POSITIONS)-1:0] sum;
  for (genvar p = 0; p < POSITIONS; p++) begin : gen_term
    if (p == 0) begin : gen_always
      assign terms[24*p+:24] = sums_q[24*p+:24];
    end else begin : gen_masked
      assign terms[24*p+:24] = sum_q >= 4'(p) ? sums_q[24*p+:24] : '0;
    end
  end
  adder_tree #(.LEAVES(POSITIONS), .WIDTH(24)) tree (.clk_i, .leaves_i(terms), .sum_o(sum));
  logic [17:0]   multiplier;
  logic [SW-1:0] logit_offset;
  delay_line #(.WIDTH(18), .DEPTH(TREE)) multiplier_delay (
    .clk_i, .en_i(1'b1), .data_i(scale[17:0]), .data_o(multiplier)
  );
  delay_line #(.WIDTH(SW), .DEPTH(TREE)) offset_delay (.clk_i, .en_i(1'b1), .data_i(offset_qq), .data_o(logit_offset));
  logic signed [SW-1:0] logit;
  logic                 fits, unused_sum;
  mac #(.FAMILY(FAMILY), .A_WIDTH(24), .B_WIDTH(18), .P_WIDTH(SW)) logit_scaler (
    .clk_i, .first_i(1'b0), .a_i(sum[23:0]), .b_i(multiplier), .c_i(logit_offset), .p_o(logit)
  );
  assign fits       = logit[SW-1:31] == {(SW - 31) {logit[SW-1]}};
  assign unused_sum = ^{sum[24+:$clog2(POSITIONS)], logit[15:0]};
  always_ff @(posedge clk_i) logit_o <= fits ? logit[31:16] : {logit[SW-1], {15{~logit[SW-1]}}};

  // The pass of the words.
  logic [8:0] address_q;
  logic [3:0] stride_q;
  logic       pool_q, half_q, layer_q, logits_q;
  always_ff @(posedge clk_i) begin
    if (words_start) {address_q, stride_q, pool_q, half_q, layer_q, logits_q} <=
        {pass_address_i, pass_stride_i, pass_pool_i, pass_half_i, pass_layer_i, pass_logits_i};
    else address_q <= address_q + 9'(stride_q) + 9'd1;
  end

  logic [63:0] pooled;
  for (genvar p = 0; p < POSITIONS / 2; p++) begin : gen_pool
    logic [7:0] even, odd;
    assign {odd, even}       = words_q[16*p+:16];
    assign pooled[8*p+:8]    = even > odd ? even : odd;
  end
  assign result_data_o    = pool_q ? {pooled, pooled} : words_q;
  assign result_address_o = address_q;
  assign result_valid_o   = !words_valid || logits_q ? 2'b00 : pool_q ? {half_q, !half_q} : 2'b11;
  assign written_o        = words_first && layer_q;
  assign logit_valid_o    = logits_valid && logits_q;

  always_ff @(posedge clk_i) begin
    if (rst_ni && start_i) previous_pass_is_out : assert (!sums_valid || sums_channel == 5'(CHANNELS - 1));
  end
endmodule
