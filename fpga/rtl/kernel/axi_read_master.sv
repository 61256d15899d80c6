// Reads consecutive 64-bit words by AXI4 bursts. It requests a burst only when the buffer has room for all of
// it, so the read channel never stalls. Several bursts may be outstanding.
module axi_read_master #(
  parameter int DATA_BITS = 64,     // other widths are for proofs only
  parameter int MAX_BURST = 64,
  parameter int DEPTH = 256         // buffer, in words: a power of two, at least MAX_BURST
) (
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic [63:0] cmd_address_i,    // bytes; the three lowest bits are taken as 0
  input  logic [31:0] cmd_words_i,      // 0: nothing is done
  input  logic        cmd_valid_i,
  output logic        cmd_ready_o,      // the last word of the previous transfer has arrived

  output logic [DATA_BITS-1:0] out_data_o,
  output logic        out_valid_o,
  input  logic        out_ready_i,

  output logic        error_o,          // a response since the last error_clear_i was not OKAY
  input  logic        error_clear_i,

  output logic [63:0] axi_araddr_o,
  output logic [7:0]  axi_arlen_o,
  output logic        axi_arvalid_o,
  input  logic        axi_arready_i,
  input  logic [DATA_BITS-1:0] axi_rdata_i,
  input  logic [1:0]  axi_rresp_i,
  input  logic        axi_rvalid_i,
  output logic        axi_rready_o
);
  if (DEPTH < MAX_BURST) begin : gen_bad_depth
    $error("the buffer must hold a whole burst");
  end

  wire unused_address = &{1'b0, cmd_address_i[2:0]};

  localparam int COUNT_W = $clog2(DEPTH) + 1;

  typedef enum logic [1:0] {Idle, Plan, Ask} state_e;
  state_e state_q;

  logic [60:0]        word_q;        // address in words
  logic [31:0]        unasked_q;     // words not yet requested
  logic [31:0]        unarrived_q;   // words not yet received
  logic [8:0]         beats_q;
  logic [COUNT_W-1:0] claimed_q;     // words of the buffer filled or promised to a burst
  logic [8:0]         plan;
  logic               fifo_ready;
  logic               error_q;

  axi_burst_plan #(.MAX_BURST(MAX_BURST)) u_plan (
    .word_in_page_i(word_q[8:0]), .remaining_i(unasked_q), .beats_o(plan)
  );

  logic [COUNT_W:0] unused_level;
  fifo #(.WIDTH(DATA_BITS), .DEPTH(DEPTH)) u_buffer (
    .clk_i, .rst_ni,
    .in_data_i(axi_rdata_i), .in_valid_i(axi_rvalid_i), .in_ready_o(fifo_ready),
    .out_data_o, .out_valid_o, .out_ready_i,
    .level_o(unused_level)
  );

  wire arrived  = axi_rvalid_i & axi_rready_o;
  wire consumed = out_valid_o & out_ready_i;
  wire has_room = COUNT_W'(plan) <= COUNT_W'(DEPTH) - claimed_q;
  wire claim    = (state_q == Plan) & has_room;

  assign cmd_ready_o   = (state_q == Idle) & (unarrived_q == '0);
  assign axi_araddr_o  = {word_q, 3'b000};
  assign axi_arlen_o   = beats_q[7:0] - 8'd1;
  assign axi_arvalid_o = state_q == Ask;
  assign axi_rready_o  = fifo_ready;
  assign error_o       = error_q;

  always_ff @(posedge clk_i) begin
    if (cmd_valid_i && cmd_ready_o) begin
      word_q    <= cmd_address_i[63:3];
      unasked_q <= cmd_words_i;
    end else if (axi_arvalid_o && axi_arready_i) begin
      word_q    <= word_q + 61'(beats_q);
      unasked_q <= unasked_q - 32'(beats_q);
    end
    if (claim) beats_q <= plan;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q     <= Idle;
      unarrived_q <= '0;
      claimed_q   <= '0;
      error_q     <= 1'b0;
    end else begin
      unique case (state_q)
        Idle:    if (cmd_valid_i && cmd_ready_o && cmd_words_i != '0) state_q <= Plan;
        Plan:    if (has_room) state_q <= Ask;
        Ask:     if (axi_arready_i) state_q <= (unasked_q == 32'(beats_q)) ? Idle : Plan;
        default: state_q <= Idle;
      endcase
      if (cmd_valid_i && cmd_ready_o) unarrived_q <= cmd_words_i;
      else if (arrived) unarrived_q <= unarrived_q - 32'd1;
      claimed_q <= claimed_q + (claim ? COUNT_W'(plan) : '0) - COUNT_W'(consumed);
      if (arrived && axi_rresp_i != 2'b00) error_q <= 1'b1;
      else if (error_clear_i) error_q <= 1'b0;
    end
  end

  stream_check #(.WIDTH(72)) check_ask (
    .clk_i, .rst_ni, .data_i({axi_araddr_o, axi_arlen_o}), .valid_i(axi_arvalid_o), .ready_i(axi_arready_i)
  );
endmodule
