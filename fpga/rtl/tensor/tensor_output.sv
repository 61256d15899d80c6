// The output stage: a vector of sums a cycle becomes a vector of int8 in the activation memory. Channel words wait here for the
// block that uses them; residuals wait in a buffer for their sums. Vectors of other precisions come ready and get their addresses
// here.
module tensor_output #(
  parameter int LANES       = 16,
  parameter int ACTIVATIONS = 16384,
  parameter int TWO_PLANES  = 0,  // 1: there are pixels of two vectors
  parameter int AW          = $clog2(ACTIVATIONS)
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic [511:0]        command_i,
  input  logic                start_i,
  output logic                bad_address_o,

  input  logic                channel_valid_i,
  input  logic [63:0]         channel_i,
  output logic                channels_taken_o,

  input  logic                residual_valid_i,  // at least three cycles before its result
  input  logic [8*LANES-1:0]  residual_i,

  input  logic                valid_i,
  input  logic                first_i,           // of a block
  input  logic [32*LANES-1:0] sums_i,

  output logic [53*LANES-1:0] channels_o,        // the channel words that wait
  input  logic                other_taken_i,
  input  logic                other_valid_i,     // never together with a result of int8
  input  logic                other_first_i,     // of a block
  input  logic                other_second_i,    // of two vectors: the other one has a block of its own
  input  logic                other_last_i,      // of the vectors of a pixel
  input  logic [8*LANES-1:0]  other_data_i,
  output logic                written_o,         // a pixel is complete

  output logic                write_valid_o,
  output logic [AW-1:0]       write_address_o,
  output logic [8*LANES-1:0]  write_data_o
);
  localparam int W        = tensor_pkg::ADDRESS_BITS;
  localparam int RESULT   = 23;
  localparam int RESIDUAL = 14;

  wire         with_residual = command_i[16+2];
  wire [W-1:0] address = command_i[256+:W];
  wire [W-1:0] plane   = command_i[288+:W];

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
  assign channels_taken_o = first[6] | other_taken_i;

  // Three times the multipliers of a residual, which all lanes share.
  logic signed [16:0] own, residual_factor;
  logic signed [18:0] own3_q, residual3_q;
  assign own             = {1'b0, command_i[448+:16]};
  assign residual_factor = {1'b0, command_i[464+:16]};
  always_ff @(posedge clk_i) begin
    own3_q      <= 19'(own) + (19'(own) <<< 1);
    residual3_q <= 19'(residual_factor) + (19'(residual_factor) <<< 1);
  end

  // As many residuals as sums can be on their way: one every second cycle.
  logic [8*LANES-1:0] residual;
  logic               residual_ready, residual_waits;
  logic [7:0]         unused_level;
  fifo #(.WIDTH(8 * LANES), .DEPTH(64)) residuals (
    .clk_i, .rst_ni, .in_data_i(residual_i), .in_valid_i(residual_valid_i), .in_ready_o(residual_ready),
    .out_data_o(residual), .out_valid_o(residual_waits), .out_ready_i(valid[RESIDUAL] & with_residual),
    .level_o(unused_level)
  );
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (residual_valid_i) residual_has_room : assert (residual_ready);
      if (valid[RESIDUAL] && with_residual) residual_is_there : assert (residual_waits);
    end
  end
  wire unused = &{1'b0, command_i, residual_ready, residual_waits, channel_i};

  logic [8*LANES-1:0] data;
  for (genvar i = 0; i < LANES; i++) begin : gen_lane
    logic [52:0] waiting_q, next;
    if (i == LANES - 1) begin : gen_enter
      assign next = channel_i[52:0];
    end else begin : gen_move
      assign next = gen_lane[i+1].waiting_q;
    end
    always_ff @(posedge clk_i) if (channel_valid_i) waiting_q <= next;
    tensor_lane lane (
      .clk_i, .channel_i(waiting_q), .take_bias_i(first[0]), .take_shift_i(first[1]), .take_multiplier_i(first[6]),
      .sum_i(sums_i[32*i+:32]),
      .zero_i(command_i[392+:8]), .low_i(command_i[400+:8]), .high_i(command_i[408+:8]),
      .with_residual_i(with_residual), .residual_zero_i(command_i[416+:8]), .sum_zero_i(command_i[424+:8]),
      .sum_low_i(command_i[432+:8]), .sum_high_i(command_i[440+:8]),
      .own_multiplier_i(own), .own_multiplier3_i(own3_q),
      .residual_multiplier_i(residual_factor), .residual_multiplier3_i(residual3_q),
      .residual_i(residual[8*i+:8]), .result_o(data[8*i+:8])
    );
    assign channels_o[53*i+:53] = waiting_q;
  end

  logic [W-1:0] block_q, next_q;
  wire          begins  = first[RESULT] | other_first_i;
  wire  [W-1:0] present = begins ? block_q : next_q;
  // A second vector goes one plane further, and the block behind such vectors two.
  wire  [W-1:0] placed  = other_second_i ? present + plane : present;
  wire  [W-1:0] planes  = TWO_PLANES != 0 && command_i[20] ? plane << 1 : plane;
  assign write_valid_o   = valid[RESULT] | other_valid_i;
  assign write_address_o = placed[AW-1:0];
  assign write_data_o    = other_valid_i ? other_data_i : data;
  assign written_o       = valid[RESULT] | other_last_i;
  assign bad_address_o   = write_valid_o & (placed[W-1:AW] != '0);
  always_ff @(posedge clk_i) begin
    if (start_i) block_q <= address;
    else if (begins) block_q <= block_q + planes;
    if (write_valid_o) next_q <= present + W'(written_o);
  end
endmodule
