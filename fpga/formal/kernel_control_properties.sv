// The register file does what XRT expects: a write changes its register, byte by byte, and nothing else; a read gives the
// register as it was when it was asked for; start, done and ready follow ap_ctrl_chain; interrupts are set by their
// event where enabled and toggled by a write. Every request is answered (axi_lite_check).
module kernel_control_properties (
  input logic        clk_i,
  input logic        rst_ni,
  input logic [6:0]  awaddr_i,
  input logic        awvalid_i,
  input logic [31:0] wdata_i,
  input logic [3:0]  wstrb_i,
  input logic        wvalid_i,
  input logic        bready_i,
  input logic [6:0]  araddr_i,
  input logic        arvalid_i,
  input logic        rready_i,
  input logic        taken_i,
  input logic        finished_i,
  input logic        idle_i,
  input logic [31:0] status_i,
  input logic [31:0] frames_done_i,
  input logic [63:0] cycles_i
);

  logic        awready, wready, bvalid, arready, rvalid, interrupt, start, done;
  logic [1:0]  bresp, rresp;
  logic [31:0] rdata, frames, parameter_words, configuration, seed;
  logic [63:0] input_address, output_address, parameters_address;
  kernel_control dut (
    .clk_i, .rst_ni,
    .axi_awaddr_i(awaddr_i), .axi_awvalid_i(awvalid_i), .axi_awready_o(awready),
    .axi_wdata_i(wdata_i), .axi_wstrb_i(wstrb_i), .axi_wvalid_i(wvalid_i), .axi_wready_o(wready),
    .axi_bresp_o(bresp), .axi_bvalid_o(bvalid), .axi_bready_i(bready_i),
    .axi_araddr_i(araddr_i), .axi_arvalid_i(arvalid_i), .axi_arready_o(arready),
    .axi_rdata_o(rdata), .axi_rresp_o(rresp), .axi_rvalid_o(rvalid), .axi_rready_i(rready_i),
    .interrupt_o(interrupt), .start_o(start), .taken_i, .finished_i, .idle_i, .done_o(done),
    .input_address_o(input_address), .output_address_o(output_address),
    .parameters_address_o(parameters_address), .frames_o(frames), .parameter_words_o(parameter_words),
    .config_o(configuration), .seed_o(seed), .status_i, .frames_done_i, .cycles_i
  );

  (* observe = "dut.gie_q" *) wire gie;
  (* observe = "dut.ready_q" *) wire ready;
  (* observe = "dut.ier_q" *) wire [1:0] ier;
  (* observe = "dut.isr_q" *) wire [1:0] isr;
  (* observe = "dut.check_port.address_taken_q" *) wire address_taken;
  (* observe = "dut.check_port.data_taken_q" *) wire data_taken;
  (* observe = "dut.check_port.read_taken_q" *) wire read_taken;
  (* observe = "dut.check_port.check_write_answer.waiting_q" *) wire write_answer_waits;
  (* observe = "dut.check_port.check_read_answer.waiting_q" *) wire read_answer_waits;

  wire written  = awvalid_i & awready & wvalid_i & wready;
  wire was_read = arvalid_i & arready;

  // The arguments, as the host reads and the kernel sees them: word address, value.
  function automatic logic [32:0] argument(input logic [4:0] word);
    case (word)
      5'h04: argument = {1'b1, input_address[31:0]};
      5'h05: argument = {1'b1, input_address[63:32]};
      5'h07: argument = {1'b1, output_address[31:0]};
      5'h08: argument = {1'b1, output_address[63:32]};
      5'h0a: argument = {1'b1, parameters_address[31:0]};
      5'h0b: argument = {1'b1, parameters_address[63:32]};
      5'h0d: argument = {1'b1, frames};
      5'h0f: argument = {1'b1, parameter_words};
      5'h11: argument = {1'b1, configuration};
      5'h13: argument = {1'b1, seed};
      default: argument = 33'd0;
    endcase
  endfunction

  // What a read at this moment must give.
  function automatic logic [31:0] value(input logic [4:0] word);
    case (word)
      5'h00: value = {28'd0, ready, idle_i, done, start};
      5'h01: value = {31'd0, gie};
      5'h02: value = {30'd0, ier};
      5'h03: value = {30'd0, isr};
      5'h18: value = status_i;
      5'h19: value = frames_done_i;
      5'h1a: value = cycles_i[31:0];
      5'h1b: value = cycles_i[63:32];
      default: value = argument(word);
    endcase
  endfunction

  (* anyconst *) logic [4:0] watched;  // any register
  logic        reset_seen_q = 1'b0, was_q = 1'b0, written_q, was_read_q, taken_q, finished_q;
  logic [4:0]  word_q;
  logic [31:0] data_q, value_q;
  logic [3:0]  strobe_q;
  logic [32:0] watched_q;
  logic        start_q, done_q, ready_q, control_read_q, gie_q;
  logic [1:0]  ier_q, isr_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) reset_seen_q <= 1'b1;
    was_q      <= rst_ni && reset_seen_q;
    written_q  <= written;
    was_read_q <= was_read;
    taken_q    <= taken_i;
    finished_q <= finished_i;
    word_q     <= awaddr_i[6:2];
    data_q     <= wdata_i;
    strobe_q   <= wstrb_i;
    value_q    <= value(araddr_i[6:2]);
    watched_q  <= argument(watched);
    start_q    <= start;
    done_q     <= done;
    ready_q    <= ready;
    gie_q      <= gie;
    ier_q      <= ier;
    isr_q      <= isr;
    control_read_q <= was_read && araddr_i[6:2] == 5'h00;
  end

  wire [31:0] mask_q = {{8{strobe_q[3]}}, {8{strobe_q[2]}}, {8{strobe_q[1]}}, {8{strobe_q[0]}}};
  wire        hit_q  = written_q & (word_q == watched);
  wire [32:0] watched_now = argument(watched);
  wire [1:0]  event_q = {taken_q, finished_q};

  function automatic logic set(input logic [4:0] word, input logic [4:0] index);
    set = written_q && strobe_q[0] && word_q == word && data_q[index];
  endfunction

  always_ff @(posedge clk_i) begin
    if (!reset_seen_q) assume (!rst_ni);
    if (!rst_ni && was_q) cover (start_q);
    if (rst_ni && reset_seen_q) begin
      assert (bresp == 2'b00 && rresp == 2'b00);
      assert (interrupt == (gie && isr != 2'b00));
      // For the induction: the checker remembers what the port did.
      assert (address_taken == data_taken);
      assert (!write_answer_waits || bvalid);
      assert (!read_answer_waits || rvalid);
      assert (bvalid == address_taken && rvalid == read_taken);
      if (!was_q) begin
        assert (!start && !done && !ready && !gie && ier == 2'b00 && isr == 2'b00);
        assert (!bvalid && !rvalid);
      end
    end
    if (rst_ni && was_q) begin
      if (was_read_q) assert (rvalid && rdata == value_q);
      if (written_q) assert (bvalid);
      if (watched_now[32])
        assert (watched_now[31:0] == (hit_q ? (data_q & mask_q) | (watched_q[31:0] & ~mask_q) : watched_q[31:0]));
      assert (start == (set(5'h00, 5'd0) || (start_q && !taken_q)));
      assert (done == (finished_q || (done_q && !set(5'h00, 5'd4))));
      assert (ready == (taken_q || (ready_q && !control_read_q)));
      assert (gie == (written_q && strobe_q[0] && word_q == 5'h01 ? data_q[0] : gie_q));
      assert (ier == (written_q && strobe_q[0] && word_q == 5'h02 ? data_q[1:0] : ier_q));
      for (int i = 0; i < 2; i++)
        assert (isr[i] == ((ier_q[i] && event_q[i]) || (isr_q[i] ^ set(5'h03, 5'(i)))));

      cover (was_read_q && written_q && word_q == 5'h1a);
      cover (done && !done_q && start);
      cover (interrupt && isr == 2'b11);
    end
  end
endmodule
