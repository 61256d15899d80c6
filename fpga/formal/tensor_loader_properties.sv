// The weights of the matrix: a tile that waits is whole, nothing moves behind it before it was taken and has reached the last row
// of the matrix, and it is offered once. Whatever the program, the stream and the aborts. In bfloat16 and float32 tiles are taken
// at least nine cycles apart, so that the accumulators have stored their sums. In bfloat16 and int16 a tile has half the rows, in
// int32 and float32 a quarter.
module tensor_loader_properties #(
  parameter int BFLOAT16 = 0,
  parameter int INT16    = 0,
  parameter int INT32    = 0,
  parameter int FLOAT32  = 0
) (
  input logic         clk_i,
  input logic         rst_ni,
  input logic         start_i,
  input logic         abort_i,
  input logic [63:0]  data_i,
  input logic         valid_i,
  input logic         last_i,
  input logic         tile_take_i,
  input logic         taps_take_i,
  input logic         taps_done_i,
  input logic         channels_claim_i,
  input logic         channels_taken_i
);
  localparam int LANES = 8;
  (* anyconst *) logic [511:0] command;
  logic        busy, ended, bad_weight, ready, row_valid, tile_ready, taps_ready, channel_valid, channels_ready;
  logic [63:0] row, channel;
  logic [575:0] taps;
  wire       bfloat  = BFLOAT16 != 0 && command[15:8] == tensor_pkg::BFLOAT16;
  wire       float32 = FLOAT32 != 0 && command[15:8] == tensor_pkg::FLOAT32;
  wire       floats  = bfloat | float32;
  wire       half    = bfloat | (INT16 != 0 && command[15:8] == tensor_pkg::INT16);
  wire       quarter = float32 | (INT32 != 0 && command[15:8] == tensor_pkg::INT32);
  wire [3:0] all     = half ? 4'(LANES / 2) : quarter ? 4'(LANES / 4) : 4'(LANES);  // rows of a tile
  wire [3:0] words   = floats ? all : 4'(LANES);                                    // channel words of a block
  wire [3:0] pause   = bfloat ? 4'd4 : float32 ? 4'd6 : 4'd2;                       // cycles without a row behind a tile
  tensor_loader #(.LANES(LANES), .BFLOAT16(BFLOAT16), .INT16(INT16), .INT32(INT32), .FLOAT32(FLOAT32)) dut (
    .clk_i, .rst_ni, .command_i(command), .start_i, .abort_i, .busy_o(busy), .ended_o(ended), .bad_weight_o(bad_weight),
    .data_i, .valid_i, .last_i, .ready_o(ready), .row_valid_o(row_valid), .row_o(row), .tile_ready_o(tile_ready),
    .tile_take_i, .taps_o(taps), .taps_ready_o(taps_ready), .taps_take_i, .taps_done_i, .channel_valid_o(channel_valid),
    .channel_o(channel), .channels_ready_o(channels_ready), .channels_claim_i, .channels_taken_i
  );

  (* observe = "dut.word_q" *) wire [7:0] word;
  (* observe = "dut.row_word_q" *) wire [7:0] row_word;
  (* observe = "dut.state_q" *) wire [2:0] state;
  (* observe = "dut.gap_q" *) wire [BFLOAT16 != 0 || FLOAT32 != 0 ? 2 : 1:0] gap;
  (* observe = "dut.channels_held_q" *) wire channels_held;

  logic       past_q = 1'b0, began_q = 1'b0;
  logic [3:0] rows_q = '0;          // since the last tile was taken or the command began
  logic [3:0] since_q = 4'd15;      // cycles since a tile was taken, 15 and more
  logic [3:0] channels_q = '0;      // channel words since the block before took its own

  wire [3:0] rows = rows_q + 4'(row_valid);
  always_ff @(posedge clk_i) begin
    past_q <= 1'b1;
    assume (rst_ni == past_q);
    if (busy) assume (!start_i);
    if (!tile_ready) assume (!tile_take_i);
    if (!taps_ready) assume (!taps_take_i);
    if (!channels_ready) assume (!channels_claim_i);
    // A block takes its channel words after it has claimed them.
    if (!channels_held || channels_ready) assume (!channels_taken_i);
    // The control starts a command when the one before has left the datapath.
    if (since_q < 4'd7) assume (!start_i);
    // The check of the fields refuses others.
    if (half | quarter) assume (command[7:0] == tensor_pkg::CONVOLVE);

    if (!rst_ni) begin
      rows_q     <= '0;
      since_q    <= 4'd15;
      began_q    <= 1'b0;
      channels_q <= '0;
    end else begin
      if (start_i) began_q <= 1'b1;
      if (start_i || tile_take_i) rows_q <= '0;
      else rows_q <= rows;
      if (tile_take_i) since_q <= '0;
      else if (since_q != 4'd15) since_q <= since_q + 4'd1;
      if (start_i || channels_taken_i) channels_q <= '0;
      else if (channel_valid) channels_q <= channels_q + 4'd1;
    end

    if (rst_ni) begin
      assert (row_word == '0 || !began_q);
      if (tile_ready) assert (rows == all);
      if (!tile_ready && began_q && !start_i) assert (rows < all);
      // The exchange of weights has passed the last row of the first column four cycles after the tile was taken; a row needs
      // one cycle less to get there than a vector.
      if (row_valid) assert (since_q >= 4'd3);
      assert (4'(gap) == (since_q < pause ? pause - since_q : 4'd0));
      // Each row takes a cycle, from the end of the gap on.
      if (floats && rows != '0 && since_q != 4'd15) assert ({1'b0, rows} + {1'b0, pause} <= {1'b0, since_q});
      if (floats && tile_ready) assert (since_q >= 4'd8);
      // The words of a tile or of channels that have come are those counted.
      if (began_q && state == 3'd1) assert (tile_ready ? word == '0 : word == {4'd0, rows});
      if (began_q && state != 3'd1 && state != 3'd0 && !tile_ready) assert (rows == '0);
      if (began_q && state == 3'd3) assert (channels_held ? word == '0 : word == {4'd0, channels_q});
      if (channels_ready) assert (channels_held);
      if (channels_held) assert (channels_q == words);
      if (!channels_held && began_q && state != 3'd3 && state != 3'd0) assert (channels_q == '0);
      if (channel_valid) assert (!channels_held && channels_q < words);
      assert (state <= 3'd4);
      if (!began_q) assert (state == 3'd0 && !tile_ready && !channels_held && !channels_ready);
      if (began_q && !channels_held && state == 3'd3) assert (channels_q < words);
    end
    cover (rst_ni && tile_take_i && channels_ready && began_q);
  end
endmodule
