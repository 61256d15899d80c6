// Writes consecutive 64-bit words by AXI4 bursts. A burst begins only when all its words are in the buffer,
// so a slow producer never stalls the write channel.
module axi_write_master #(
  parameter int DATA_BITS = 64,     // other widths are for proofs only
  parameter int MAX_BURST = 64,
  parameter int DEPTH = 256         // buffer, in words: a power of two, at least MAX_BURST
) (
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic [63:0] cmd_address_i,    // bytes; the three lowest bits are taken as 0
  input  logic [31:0] cmd_words_i,      // 0: nothing is done
  input  logic        cmd_valid_i,
  output logic        cmd_ready_o,      // every burst of the previous transfer has been answered

  input  logic [DATA_BITS-1:0] in_data_i,
  input  logic        in_valid_i,
  output logic        in_ready_o,

  output logic        error_o,          // a response since the last error_clear_i was not OKAY
  input  logic        error_clear_i,

  output logic [63:0] axi_awaddr_o,
  output logic [7:0]  axi_awlen_o,
  output logic        axi_awvalid_o,
  input  logic        axi_awready_i,
  output logic [DATA_BITS-1:0] axi_wdata_o,
  output logic        axi_wlast_o,
  output logic        axi_wvalid_o,
  input  logic        axi_wready_i,
  input  logic [1:0]  axi_bresp_i,
  input  logic        axi_bvalid_i,
  output logic        axi_bready_o
);
  if (DEPTH < MAX_BURST) begin : gen_bad_depth
    $error("the buffer must hold a whole burst");
  end

  wire unused_address = &{1'b0, cmd_address_i[2:0]};

  typedef enum logic [1:0] {Idle, Plan, Ask, Send} state_e;
  state_e state_q;

  logic [60:0]         word_q;        // address in words
  logic [31:0]         unasked_q;      // words not yet in a burst
  logic [8:0]          beats_q;        // of the burst
  logic [8:0]          unsent_q;       // beats of the burst not yet sent
  logic [7:0]          unanswered_q;   // bursts
  logic [8:0]          plan;
  logic [$clog2(DEPTH)+1:0] held;
  logic                fifo_valid;
  logic                error_q;

  axi_burst_plan #(.MAX_BURST(MAX_BURST)) u_plan (
    .word_in_page_i(word_q[8:0]), .remaining_i(unasked_q), .beats_o(plan)
  );

  fifo #(.WIDTH(DATA_BITS), .DEPTH(DEPTH)) u_buffer (
    .clk_i, .rst_ni,
    .in_data_i, .in_valid_i, .in_ready_o,
    .out_data_o(axi_wdata_o), .out_valid_o(fifo_valid), .out_ready_i((state_q == Send) & axi_wready_i),
    .level_o(held)
  );

  wire sent     = axi_wvalid_o & axi_wready_i;
  wire asked    = axi_awvalid_o & axi_awready_i;
  wire answered = axi_bvalid_i & axi_bready_o;
  wire may_ask  = (32'(plan) <= 32'(held)) & (unanswered_q != '1);

  assign cmd_ready_o   = (state_q == Idle) & (unanswered_q == '0);
  assign axi_awaddr_o  = {word_q, 3'b000};
  assign axi_awlen_o   = beats_q[7:0] - 8'd1;
  assign axi_awvalid_o = state_q == Ask;
  assign axi_wvalid_o  = (state_q == Send) & fifo_valid;
  assign axi_wlast_o   = unsent_q == 9'd1;
  assign axi_bready_o  = 1'b1;
  assign error_o       = error_q;

  always_ff @(posedge clk_i) begin
    if (cmd_valid_i && cmd_ready_o) begin
      word_q    <= cmd_address_i[63:3];
      unasked_q <= cmd_words_i;
    end else if (asked) begin
      word_q    <= word_q + 61'(beats_q);
      unasked_q <= unasked_q - 32'(beats_q);
    end
    if (state_q == Plan) beats_q <= plan;
    if (asked) unsent_q <= beats_q;
    else if (sent) unsent_q <= unsent_q - 9'd1;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q      <= Idle;
      unanswered_q <= '0;
      error_q      <= 1'b0;
    end else begin
      unique case (state_q)
        Idle:    if (cmd_valid_i && cmd_ready_o && cmd_words_i != '0) state_q <= Plan;
        Plan:    if (may_ask) state_q <= Ask;
        Ask:     if (axi_awready_i) state_q <= Send;
        Send:    if (sent && axi_wlast_o) state_q <= (unasked_q == '0) ? Idle : Plan;
        default: state_q <= Idle;
      endcase
      unanswered_q <= unanswered_q + 8'(asked) - 8'(answered);
      if (answered && axi_bresp_i != 2'b00) error_q <= 1'b1;
      else if (error_clear_i) error_q <= 1'b0;
    end
  end

  stream_check #(.WIDTH(72)) check_ask (
    .clk_i, .rst_ni, .data_i({axi_awaddr_o, axi_awlen_o}), .valid_i(axi_awvalid_o), .ready_i(axi_awready_i)
  );
  stream_check #(.WIDTH(DATA_BITS + 1)) check_send (
    .clk_i, .rst_ni, .data_i({axi_wdata_o, axi_wlast_o}), .valid_i(axi_wvalid_o), .ready_i(axi_wready_i)
  );
endmodule
