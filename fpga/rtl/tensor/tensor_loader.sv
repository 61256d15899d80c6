// Takes the weights and channel words of one command from the program, ahead of their use: the next tile waits in the matrix,
// the next channel words wait in the output stage. Order per output block: CONVOLVE has a tile per input block, kernel row and
// kernel column, DEPTHWISE nine taps, pools nothing; then a channel word per lane. In bfloat16 and int16 a tile has LANES / 2
// rows, in int32 and float32 LANES / 4. In bfloat16 and float32 as many channel words come before the tiles of their block.
module tensor_loader #(
  parameter int LANES    = 16,
  parameter int BFLOAT16 = 0,
  parameter int INT16    = 0,
  parameter int INT32    = 0,
  parameter int FLOAT32  = 0
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic [511:0]       command_i,      // keeps its value from start_i on
  input  logic               start_i,
  input  logic               abort_i,
  output logic               busy_o,
  output logic               ended_o,        // the program ends where a word is due
  output logic               bad_weight_o,   // one of the words taken now holds -128

  input  logic [63:0]        data_i,
  input  logic               valid_i,
  input  logic               last_i,         // no word is left in the program
  output logic               ready_o,

  // Dense weights, row by row; of int8 the upper one of two columns lowered by one where the lower one is negative.
  output logic               row_valid_o,
  output logic [8*LANES-1:0] row_o,
  output logic               tile_ready_o,   // a whole tile waits
  input  logic               tile_take_i,    // it is used from now on
  // Depthwise weights: nine taps of LANES channels.
  output logic [72*LANES-1:0] taps_o,
  output logic               taps_ready_o,
  input  logic               taps_take_i,
  input  logic               taps_done_i,    // the block that took them needs them no longer
  // Channel words, shifted in from the last lane on.
  output logic               channel_valid_o,
  output logic [63:0]        channel_o,
  output logic               channels_ready_o,
  input  logic               channels_claim_i,  // a block begins that will take them
  input  logic               channels_taken_i   // they may be overwritten
);
  localparam int ROW_WORDS  = LANES / 8;
  localparam int TAP_WORDS  = 9 * LANES / 8;
  localparam int TILE_WORDS = LANES * LANES / 8;
  // From taking a tile to its weights' exchange in the matrix, less the way of the next row.
  localparam int GAP = ROW_WORDS == 1 ? 2 : ROW_WORDS == 2 ? 1 : 0;
  // In bfloat16 and float32 a tile of 8 lanes arrives so soon that the accumulators have to be waited for.
  localparam int BFLOAT_GAP  = ROW_WORDS == 1 ? 4 : GAP;
  localparam int FLOAT32_GAP = ROW_WORDS == 1 ? 6 : GAP;
  localparam int GAP_BITS    = BFLOAT16 != 0 || FLOAT32 != 0 ? 3 : 2;

  typedef enum logic [2:0] {Idle, Tile, Taps, Channels, Next} state_e;
  state_e state_q, state_d;

  wire [7:0]  opcode       = command_i[7:0];
  wire [7:0]  precision    = command_i[15:8];
  wire        bfloat       = BFLOAT16 != 0 && precision == tensor_pkg::BFLOAT16;
  wire        float32      = FLOAT32 != 0 && precision == tensor_pkg::FLOAT32;
  wire        floats       = bfloat | float32;
  wire        half         = bfloat | (INT16 != 0 && precision == tensor_pkg::INT16);    // LANES / 2 rows
  wire        quarter      = float32 | (INT32 != 0 && precision == tensor_pkg::INT32);
  wire        whole        = ~half & ~quarter;                                       // int8
  wire [15:0] input_blocks = command_i[47:32];
  wire [15:0] blocks       = command_i[63:48];
  wire [7:0]  kernel_rows  = command_i[64*3+32+:8];
  wire [7:0]  kernel_cols  = command_i[64*3+40+:8];

  logic [7:0]  word_q;              // of the tile, of the taps or of the channel words
  logic [7:0]  row_word_q;
  logic [7:0]  kx_q, ky_q;
  logic [15:0] input_block_q, block_q;
  logic        tile_waits_q, taps_wait_q, taps_used_q, channels_wait_q, channels_held_q;
  logic [GAP_BITS-1:0] gap_q;
  logic [8*LANES-1:0]  row_q;
  logic [72*LANES-1:0] taps_q;
  logic        row_valid_q;

  wire tile_room     = ~tile_waits_q & (gap_q == '0);
  wire taps_room     = ~taps_wait_q & ~taps_used_q;
  wire channels_room = ~channels_held_q;
  wire wants = (state_q == Tile & tile_room) | (state_q == Taps & taps_room) | (state_q == Channels & channels_room);
  wire took  = wants & valid_i;

  assign ready_o          = wants;
  assign busy_o           = state_q != Idle;
  assign ended_o          = wants & last_i & ~valid_i;
  assign row_valid_o      = row_valid_q;
  assign tile_ready_o     = tile_waits_q;
  assign taps_o           = taps_q;
  assign taps_ready_o     = taps_wait_q;
  assign channels_ready_o = channels_wait_q;
  assign channel_valid_o  = took & (state_q == Channels);
  assign channel_o        = data_i;

  wire tile_end     = took & (state_q == Tile) &
    (word_q == (half ? 8'(TILE_WORDS / 2 - 1) : quarter ? 8'(TILE_WORDS / 4 - 1) : 8'(TILE_WORDS - 1)));
  wire taps_end     = took & (state_q == Taps) & (word_q == 8'(TAP_WORDS - 1));
  wire channels_end = took & (state_q == Channels) &
    (word_q == (bfloat ? 8'(LANES / 2 - 1) : float32 ? 8'(LANES / 4 - 1) : 8'(LANES - 1)));
  wire row_end      = row_word_q == 8'(ROW_WORDS - 1);
  wire kx_end       = kx_q == kernel_cols - 8'd1;
  wire ky_end       = ky_q == kernel_rows - 8'd1;
  wire inputs_end   = input_block_q == input_blocks - 16'd1;
  wire block_tiles_end = kx_end & ky_end & inputs_end;

  logic bad;
  always_comb begin
    bad = 1'b0;
    for (int i = 0; i < 8; i++) bad = bad | (data_i[8*i+:8] == 8'h80);
  end
  assign bad_weight_o = took & bad & (state_q != Channels) & whole;

  wire unused = &{1'b0, command_i};
  state_e first_state;
  assign first_state = floats ? Channels : opcode == tensor_pkg::CONVOLVE ? Tile : opcode == tensor_pkg::DEPTHWISE ? Taps : Channels;
  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Idle:     if (start_i) state_d = first_state;
      Tile:     if (tile_end && block_tiles_end) state_d = !floats ? Channels : block_q == blocks ? Idle : Next;
      Taps:     if (taps_end) state_d = Channels;
      Channels: if (channels_end) state_d = floats ? Tile : block_q == blocks - 16'd1 ? Idle : Next;
      Next:     state_d = first_state;
      default:  state_d = Idle;
    endcase
    if (abort_i) state_d = Idle;
  end

  always_ff @(posedge clk_i) begin
    if (took && state_q == Tile) begin
      for (int i = 0; i < 4; i++) begin
        row_q[8*LANES-64+16*i+:16] <= {data_i[16*i+8+:8] - {7'd0, data_i[16*i+7] & whole}, data_i[16*i+:8]};
      end
    end
    if (took && state_q == Taps) taps_q <= {data_i, taps_q[72*LANES-1:64]};
  end
  if (ROW_WORDS > 1) begin : gen_wide
    always_ff @(posedge clk_i) begin
      if (took && state_q == Tile) row_q[8*LANES-65:0] <= row_q[8*LANES-1:64];
    end
  end
  assign row_o = row_q;

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      word_q        <= '0;
      row_word_q    <= '0;
      kx_q          <= '0;
      ky_q          <= '0;
      input_block_q <= '0;
      block_q       <= '0;
    end else begin
      if (tile_end || taps_end || channels_end) word_q <= '0;
      else if (took) word_q <= word_q + 8'd1;
      if (took && state_q == Tile) row_word_q <= row_end ? '0 : row_word_q + 8'd1;
      if (tile_end) begin
        kx_q <= kx_end ? '0 : kx_q + 8'd1;
        if (kx_end) ky_q <= ky_end ? '0 : ky_q + 8'd1;
        if (kx_end && ky_end) input_block_q <= inputs_end ? '0 : input_block_q + 16'd1;
      end
      if (channels_end) block_q <= block_q + 16'd1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q         <= Idle;
      row_valid_q     <= 1'b0;
      tile_waits_q    <= 1'b0;
      taps_wait_q     <= 1'b0;
      taps_used_q     <= 1'b0;
      channels_wait_q <= 1'b0;
      channels_held_q <= 1'b0;
      gap_q           <= '0;
    end else begin
      state_q     <= state_d;
      row_valid_q <= took & (state_q == Tile) & row_end;
      if (tile_take_i) gap_q <= bfloat ? GAP_BITS'(BFLOAT_GAP) : float32 ? GAP_BITS'(FLOAT32_GAP) : GAP_BITS'(GAP);
      else if (gap_q != '0) gap_q <= gap_q - 1'b1;
      // A command begins when the one before has left the datapath: what an aborted one left behind is forgotten.
      tile_waits_q    <= ~start_i & (tile_end | (tile_waits_q & ~tile_take_i));
      taps_wait_q     <= ~start_i & (taps_end | (taps_wait_q & ~taps_take_i));
      taps_used_q     <= ~start_i & (taps_take_i | (taps_used_q & ~taps_done_i));
      channels_wait_q <= ~start_i & (channels_end | (channels_wait_q & ~channels_claim_i));
      channels_held_q <= ~start_i & (channels_end | (channels_held_q & ~channels_taken_i));
    end
  end
endmodule
