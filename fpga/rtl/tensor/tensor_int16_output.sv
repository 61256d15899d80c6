// The output stage in int16: a vector of sums of 64 bits becomes one vector of int16, scaled and limited, or two vectors of int32,
// the second of which belongs to a block of its own. Two channel words belong to each channel: the bias, then multiplier and shift.
module tensor_int16_output #(
  parameter int LANES   = 16,
  parameter int FAMILY  = 1,
  parameter int COLUMNS = LANES / 2
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                int32_i,
  input  logic [15:0]         zero_i,
  input  logic [15:0]         low_i,
  input  logic [15:0]         high_i,
  input  logic [53*LANES-1:0] channels_i,        // wait until they are taken
  output logic                channels_taken_o,
  input  logic                valid_i,           // with int32, at most every second cycle
  input  logic                first_i,           // of a block
  input  logic [32*LANES-1:0] sums_i,
  // 7 cycles later with int32, else 12.
  output logic                valid_o,
  output logic                first_o,
  output logic                second_o,          // the second vector of int32
  output logic                last_o,            // of the vectors of a pixel
  output logic [8*LANES-1:0]  data_o
);
  localparam int SHIFTED = 6;
  localparam int SECOND  = SHIFTED + 2;
  localparam int RESULT  = 12;

  // valid and first of the sums under way; index n is n cycles behind the sums. Those of int32 end with their second vector,
  // because the next command may be of another kind.
  logic [RESULT:1] valid_q, first_q;
  wire  [RESULT:0] valid = {valid_q, valid_i};
  wire  [RESULT:0] first = {first_q, valid_i & first_i};
  wire  [RESULT:1] goes_on = {{(RESULT - SECOND) {~int32_i}}, {SECOND {1'b1}}};
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q <= '0;
      first_q <= '0;
    end else begin
      valid_q <= valid[RESULT-1:0] & goes_on;
      first_q <= first[RESULT-1:0] & goes_on;
      two_vectors_have_two_cycles : assert (!(int32_i && valid[0] && valid[1]));
    end
  end
  assign channels_taken_o = first[5];
  assign valid_o          = int32_i ? valid[SHIFTED+1] | valid[SECOND] : valid[RESULT];
  assign first_o          = int32_i ? first[SHIFTED+1] : first[RESULT];
  assign second_o         = int32_i & valid[SECOND];
  assign last_o           = int32_i ? valid[SECOND] : valid[RESULT];

  logic [16*LANES-1:0] shifted;
  logic [8*LANES-1:0]  scaled, upper_q, data_q;
  assign data_o = data_q;
  for (genvar c = 0; c < COLUMNS; c++) begin : gen_lane
    tensor_int16_lane #(.FAMILY(FAMILY)) lane (
      .clk_i, .bias_i(channels_i[106*c+:48]), .take_bias_i(first[0]), .shift_i(channels_i[106*c+53+32+:6]),
      .take_shift_i(first[1]), .multiplier_i(channels_i[106*c+53+:17]), .take_multiplier_i(first[5]),
      .sum_i(sums_i[64*c+:64]), .zero_i, .low_i, .high_i,
      .shifted_o(shifted[32*c+:32]), .result_o(scaled[16*c+:16])
    );
  end
  always_ff @(posedge clk_i) begin
    upper_q <= shifted[16*LANES-1:8*LANES];
    data_q  <= !int32_i ? scaled : valid[SHIFTED] ? shifted[8*LANES-1:0] : upper_q;
  end
  wire unused = &{1'b0, channels_i};
endmodule
