// Runs the program: for each layer, block of CHANNELS output channels and group of 16 positions one pass, in which
// every tap of every input channel is a step. Any program comes to its end: there are 8 layers at most.
//
// A layer is a word of the program, each count less one:
//   8…0 address of the input, 12…9 words per input channel, 19…13 input channels, 25…20 taps, 29…26 groups,
//   32…30 blocks, 41…33 address of the results, 45…42 words per output channel, 49…46 positions that the last layer
//   adds up, 50 pool, 51 the last layer
// Layer 0 reads the burst: 8 words from 0 or, in the other bank, from 16 for each channel.
//
// A pass has a multiple of 4 steps and at least CHANNELS, because a lane splits its sums after 4 and the results
// of a pass leave in as many cycles. Steps that are left over have rows of zeros in the weights.
//
// The next layer begins when the first result of the last pass is stored: it reads no faster than the others
// follow.
module modulation_sequence #(
  parameter int CHANNELS = 16,  // of a pass: 16 or 24
  parameter int ROWS     = 2112,
  parameter int RW       = $clog2(ROWS)
) (
  input  logic          clk_i,
  input  logic          rst_ni,
  input  logic          write_valid_i,
  input  logic [2:0]    write_row_i,
  input  logic [63:0]   write_data_i,
  input  logic          start_i,
  output logic          idle_o,
  input  logic          bank_i,           // of the burst; until it is released
  output logic          release_o,
  // A step.
  output logic [8:0]    read_address_o,
  output logic          begin_o,          // tap 0
  output logic          refill_o,         // the word that is read continues the window
  output logic [RW-1:0] row_o,
  output logic          first_o,          // of a quad
  output logic          last_o,           // of a quad
  output logic          clear_o,          // with last_o: of the first quad of a pass
  output logic          done_o,           // with last_o: of the last quad of a pass
  // The pass that was finished last.
  output logic [7:0]    pass_scale_o,     // of its first channel, counted over all layers
  output logic [8:0]    pass_address_o,   // of its first channel's result
  output logic [3:0]    pass_stride_o,    // words per channel, less one
  output logic [3:0]    pass_sum_o,       // positions that make a logit, less one
  output logic          pass_pool_o,
  output logic          pass_half_o,      // pooled: the half of the word
  output logic          pass_layer_o,     // the last one of its layer
  output logic          pass_logits_o,    // the last one of the program
  input  logic          written_i         // the first result of the layer's last pass is being stored
);
  typedef enum logic [1:0] {Idle, Fetch, Run, Wait} state_e;
  state_e state_q;

  // The program
  logic [51:0] program_memory[8];
  logic [51:0] layer_q;
  logic [2:0]  index_q;
  logic        unused_data;
  assign unused_data = ^write_data_i[63:52];
  always_ff @(posedge clk_i) begin
    if (write_valid_i) program_memory[write_row_i] <= write_data_i[51:0];
    if (state_q == Fetch) layer_q <= program_memory[index_q];
  end
  logic [8:0] base, results;
  logic [3:0] stride, groups, result_stride, sum;
  logic [6:0] channels;
  logic [5:0] taps;
  logic [2:0] blocks;
  logic       pool, ends;
  assign {ends, pool, sum, result_stride, results, blocks, groups, taps, channels, stride} = layer_q[51:9];
  assign base = index_q == '0 ? {layer_q[8:5], bank_i, layer_q[3:0]} : layer_q[8:0];

  // The counters of a layer
  logic [5:0]    tap_q;
  logic [6:0]    channel_q;
  logic [3:0]    group_q;
  logic [7:0]    scale_q;
  logic [2:0]    block_q;
  logic [4:0]    step_q;         // of the pass; from 28 it goes round in quads
  logic          left_over_q;
  logic [RW-1:0] row_q, block_row_q;
  logic [8:0]    channel_address_q, word_address_q, group_address, block_results_q;
  logic          run, tap_last, taps_done, pass_last, group_last, layer_last, program_last;
  assign run          = state_q == Run;
  assign tap_last     = tap_q == taps;
  assign taps_done    = left_over_q || (tap_last && channel_q == channels);
  assign pass_last    = run && taps_done && step_q[1:0] == 2'd3 && step_q >= 5'(CHANNELS - 1);
  assign group_last   = group_q == groups;
  assign layer_last   = pass_last && group_last && block_q == blocks;
  assign program_last = ends || index_q == '1;
  assign group_address = group_last ? base : base + 9'(group_q) + 9'd1;  // of the next pass

  always_ff @(posedge clk_i) begin
    if (state_q == Fetch) begin
      tap_q       <= '0;
      channel_q   <= '0;
      group_q     <= '0;
      block_q     <= '0;
      step_q      <= '0;
      left_over_q <= 1'b0;
    end else if (run) begin
      step_q      <= step_q == '1 ? 5'd28 : step_q + 1'b1;
      left_over_q <= taps_done;
      tap_q       <= tap_last ? '0 : tap_q + 1'b1;
      if (tap_last) channel_q <= channel_q + 1'b1;
      if (pass_last) begin
        step_q      <= '0;
        left_over_q <= 1'b0;
        tap_q       <= '0;
        channel_q   <= '0;
        group_q     <= group_last ? '0 : group_q + 1'b1;
        if (group_last) block_q <= block_q + 1'b1;
      end
    end
  end

  // Words of a block: CHANNELS · (result_stride + 1).
  logic [8:0] block_size;
  assign block_size = CHANNELS == 16 ? {1'b0, result_stride, 4'd0} + 9'd16
                                     : 9'({result_stride, 4'd0} + {1'b0, result_stride, 3'd0}) + 9'd24;
  if (CHANNELS != 16 && CHANNELS != 24) $error("CHANNELS is 16 or 24");

  // Addresses. The first layer's begin when it is known, one cycle after Fetch.
  logic fetched_q;
  logic [8:0] channel_address;
  assign channel_address = fetched_q ? base : channel_address_q;
  always_ff @(posedge clk_i) begin
    fetched_q <= state_q == Fetch;
    if (run) begin
      channel_address_q <= channel_address;
      if (tap_last) channel_address_q <= channel_address + 9'(stride) + 9'd1;
      if (pass_last) channel_address_q <= group_address;
      if (begin_o) word_address_q <= channel_address + 9'd1;
      else if (refill_o) word_address_q <= word_address_q + 9'd1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (state_q == Idle) begin
      row_q       <= '0;
      block_row_q <= '0;
      scale_q     <= '0;
    end else if (run) begin
      row_q <= pass_last && !group_last ? block_row_q : row_q + 1'b1;
      if (pass_last && group_last) begin
        block_row_q <= row_q + 1'b1;
        scale_q     <= scale_q + 8'(CHANNELS);
      end
    end
    if (fetched_q) block_results_q <= results;
    else if (pass_last && group_last) block_results_q <= block_results_q + block_size;
  end

  assign idle_o         = state_q == Idle;
  assign release_o      = layer_last && index_q == '0;
  assign begin_o        = tap_q == '0;
  assign refill_o       = tap_q[3:0] == 4'd1;
  assign read_address_o = begin_o ? channel_address : word_address_q;
  assign row_o          = row_q;
  assign first_o        = run && step_q[1:0] == 2'd0;
  assign last_o         = run && step_q[1:0] == 2'd3;
  assign clear_o        = step_q[4:2] == '0;
  assign done_o         = pass_last;

  always_ff @(posedge clk_i) begin
    if (pass_last) begin
      pass_scale_o   <= scale_q;
      pass_address_o <= block_results_q + (pool ? 9'(group_q[3:1]) : 9'(group_q));
      pass_stride_o  <= result_stride;
      pass_sum_o     <= sum;
      pass_pool_o    <= pool;
      pass_half_o    <= group_q[0];
      pass_layer_o   <= layer_last;
      pass_logits_o  <= layer_last && program_last;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= Idle;
      index_q <= '0;
    end else begin
      unique case (state_q)
        Idle: begin
          index_q <= '0;
          if (start_i) state_q <= Fetch;
        end
        Fetch: state_q <= Run;
        Run: if (layer_last) state_q <= program_last ? Idle : Wait;
        Wait: begin
          if (written_i) begin
            index_q <= index_q + 1'b1;
            state_q <= Fetch;
          end
        end
      endcase
    end
  end
endmodule
