// The output stage in int32: a vector of sums of 96 bits becomes a vector of int32, scaled and limited. Four channel words belong
// to each channel: two parts of the bias, the multiplier and the shift.
module tensor_int32_output #(
  parameter int LANES   = 16,
  parameter int FAMILY  = 1,
  parameter int COLUMNS = LANES / 4
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic [31:0]         low_i,
  input  logic [31:0]         high_i,
  input  logic [53*LANES-1:0] channels_i,        // wait until they are taken
  output logic                channels_taken_o,
  input  logic                valid_i,
  input  logic                first_i,           // of a block
  input  logic [32*LANES-1:0] sums_i,            // four lanes each, of which three count
  // 14 cycles later.
  output logic                valid_o,
  output logic                first_o,
  output logic [8*LANES-1:0]  data_o
);
  localparam int RESULT = 14;

  // valid and first of the sums under way; index n is n cycles behind the sums.
  logic [RESULT:1] valid_q, first_q;
  wire  [RESULT:0] valid = {valid_q, valid_i};
  wire  [RESULT:0] first = {first_q, valid_i & first_i};
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q <= '0;
      first_q <= '0;
    end else begin
      valid_q <= valid[RESULT-1:0];
      first_q <= first[RESULT-1:0];
    end
  end
  assign channels_taken_o = first[5];
  assign valid_o          = valid[RESULT];
  assign first_o          = first[RESULT];

  logic [8*LANES-1:0] scaled, data_q;
  assign data_o = data_q;
  for (genvar c = 0; c < COLUMNS; c++) begin : gen_lane
    wire [211:0] words = channels_i[212*c+:212];
    wire         unused_words = &{1'b0, words};
    tensor_int32_lane #(.FAMILY(FAMILY)) lane (
      .clk_i, .bias_i({words[53+:40], words[47:0]}), .take_bias_i(first[0]), .shift_i(words[159+:6]), .take_shift_i(first[1]),
      .multiplier_i(words[106+:34]), .take_multiplier_i(first[5]), .sum_i(sums_i[128*c+:96]), .low_i, .high_i,
      .result_o(scaled[32*c+:32])
    );
  end
  always_ff @(posedge clk_i) data_q <= scaled;
  wire unused = &{1'b0, sums_i};
endmodule
