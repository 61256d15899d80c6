// Whatever the program says: a pass has a multiple of four steps and at least sixteen, a quad's marks stand where
// they belong, no step comes between a layer and its results, and each burst is released once.
module modulation_sequence_properties (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        write_valid_i,
  input logic [2:0]  write_row_i,
  input logic [63:0] write_data_i,
  input logic        start_i,
  input logic        bank_i,
  input logic        written_i
);
  localparam int ROWS = 8;

  logic       idle, release_bank, tap_begin, tap_refill, first, last, clear, done, pool, half, layer, logits;
  logic [8:0] read_address, address;
  logic [2:0] row;
  logic [7:0] scale;
  logic [3:0] stride, sum;
  modulation_sequence #(.ROWS(ROWS)) dut (
    .clk_i, .rst_ni, .write_valid_i, .write_row_i, .write_data_i, .start_i, .idle_o(idle), .bank_i,
    .release_o(release_bank), .read_address_o(read_address), .begin_o(tap_begin),
    .refill_o(tap_refill), .row_o(row), .first_o(first), .last_o(last), .clear_o(clear), .done_o(done),
    .pass_scale_o(scale), .pass_address_o(address), .pass_stride_o(stride), .pass_sum_o(sum),
    .pass_pool_o(pool), .pass_half_o(half),
    .pass_layer_o(layer), .pass_logits_o(logits), .written_i
  );
  (* observe = "dut.step_q" *) wire [4:0] step_of_pass;
  (* observe = "dut.state_q" *) wire [1:0] state;  // idle, fetch, run, wait
  (* observe = "dut.index_q" *) wire [2:0] index;

  // Steps since the pass began, up to 16, and their last two bits; whether the burst was released.
  logic [4:0] steps_q;
  logic [1:0] quad_q;
  logic       released_q;
  logic       reset_seen_q = 1'b0;
  logic       step;
  assign step = state == 2'd2;
  always_comb begin
    if (!reset_seen_q) assume (!rst_ni);
    // The program is loaded when nothing is being computed.
    if (!idle) assume (!write_valid_i);
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      reset_seen_q <= 1'b1;
      steps_q      <= '0;
      quad_q       <= '0;
      released_q   <= 1'b0;
    end else if (reset_seen_q) begin
      if (step) begin
        steps_q <= done ? '0 : steps_q == 5'd16 ? 5'd16 : steps_q + 5'd1;
        quad_q  <= quad_q + 2'd1;
      end
      if (idle && start_i) released_q <= 1'b0;
      else if (release_bank) released_q <= 1'b1;

      // What the counters are: the proof's induction needs it.
      assert (steps_q <= 5'd16);
      if (state == 2'd2) assert (quad_q == step_of_pass[1:0]);
      if (state == 2'd2 && steps_q != 5'd16) assert (steps_q == step_of_pass);
      if (state == 2'd2 && steps_q == 5'd16) assert (step_of_pass >= 5'd16);
      if (state != 2'd2) assert (steps_q == '0 && quad_q == '0);
      assert ((state == 2'd0) == idle);
      if (state == 2'd1 || state == 2'd2) assert (released_q == (index != '0));
      if (state == 2'd3) assert (released_q && index != '1);

      if (done) assert (step && last && steps_q >= 5'd15 && quad_q == 2'd3);
      assert (first == (step && quad_q == 2'd0));
      assert (last == (step && quad_q == 2'd3));
      if (step) assert (clear == (steps_q < 5'd4));
      if (release_bank) assert (done && !released_q);
      cover (idle && released_q);
      cover (done && steps_q == 5'd16);
    end
  end
endmodule
