// The register file that XRT drives: AXI4-Lite, ap_ctrl_chain.
//
// 0x00 control   bit 0 start (set by the host, cleared when the run is taken), 1 done (until continue),
//                2 idle, 3 ready (the run was taken; cleared by reading), 4 continue (write 1)
// 0x04 global interrupt enable, 0x08 interrupt enable, 0x0C interrupt status (toggle on write):
//                bit 0 done, bit 1 ready
// 0x10 input address      0x1C output address      0x28 parameters address      (64 bits each)
// 0x34 frames             0x3C parameter words     0x44 configuration           0x4C seed
// 0x60 status (read)      0x64 frames done (read)  0x68, 0x6C cycles (read)
module kernel_control (
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic [6:0]  axi_awaddr_i,
  input  logic        axi_awvalid_i,
  output logic        axi_awready_o,
  input  logic [31:0] axi_wdata_i,
  input  logic [3:0]  axi_wstrb_i,
  input  logic        axi_wvalid_i,
  output logic        axi_wready_o,
  output logic [1:0]  axi_bresp_o,
  output logic        axi_bvalid_o,
  input  logic        axi_bready_i,
  input  logic [6:0]  axi_araddr_i,
  input  logic        axi_arvalid_i,
  output logic        axi_arready_o,
  output logic [31:0] axi_rdata_o,
  output logic [1:0]  axi_rresp_o,
  output logic        axi_rvalid_o,
  input  logic        axi_rready_i,
  output logic        interrupt_o,

  output logic        start_o,          // a run is asked for
  input  logic        taken_i,          // it was taken with the arguments of this cycle
  input  logic        finished_i,       // it ended
  input  logic        idle_i,
  output logic        done_o,           // an ended run that the host has not acknowledged

  output logic [63:0] input_address_o,
  output logic [63:0] output_address_o,
  output logic [63:0] parameters_address_o,
  output logic [31:0] frames_o,
  output logic [31:0] parameter_words_o,
  output logic [31:0] config_o,
  output logic [31:0] seed_o,

  input  logic [31:0] status_i,
  input  logic [31:0] frames_done_i,
  input  logic [63:0] cycles_i
);
  localparam logic [4:0] CONTROL = 5'h00, GIE = 5'h01, IER = 5'h02, ISR = 5'h03;
  localparam logic [4:0] INPUT_LOW = 5'h04, INPUT_HIGH = 5'h05, OUTPUT_LOW = 5'h07, OUTPUT_HIGH = 5'h08;
  localparam logic [4:0] PARAMETERS_LOW = 5'h0a, PARAMETERS_HIGH = 5'h0b;
  localparam logic [4:0] FRAMES = 5'h0d, PARAMETER_WORDS = 5'h0f, CONFIGURATION = 5'h11, SEED = 5'h13;
  localparam logic [4:0] STATUS = 5'h18, FRAMES_DONE = 5'h19, CYCLES_LOW = 5'h1a, CYCLES_HIGH = 5'h1b;

  logic [31:0] input_low_q, input_high_q, output_low_q, output_high_q, parameters_low_q, parameters_high_q;
  logic [31:0] frames_q, parameter_words_q, config_q, seed_q;
  logic        start_q, done_q, ready_q, gie_q, bvalid_q, rvalid_q;
  logic [1:0]  ier_q, isr_q;
  logic [31:0] rdata_q, rdata_d;

  // A write is taken when its address and its data are both there.
  wire write = axi_awvalid_i & axi_wvalid_i & (~bvalid_q | axi_bready_i);
  wire read  = axi_arvalid_i & (~rvalid_q | axi_rready_i);
  wire [4:0] write_word = axi_awaddr_i[6:2];
  wire [4:0] read_word  = axi_araddr_i[6:2];
  wire write_byte_0 = write & axi_wstrb_i[0];

  wire [31:0] mask = {{8{axi_wstrb_i[3]}}, {8{axi_wstrb_i[2]}}, {8{axi_wstrb_i[1]}}, {8{axi_wstrb_i[0]}}};

  assign axi_awready_o = write;
  assign axi_wready_o  = write;
  assign axi_bresp_o   = 2'b00;
  assign axi_bvalid_o  = bvalid_q;
  assign axi_arready_o = read;
  assign axi_rdata_o   = rdata_q;
  assign axi_rresp_o   = 2'b00;
  assign axi_rvalid_o  = rvalid_q;
  assign interrupt_o   = gie_q & (|isr_q);

  assign start_o = start_q;
  assign done_o  = done_q;
  assign input_address_o      = {input_high_q, input_low_q};
  assign output_address_o     = {output_high_q, output_low_q};
  assign parameters_address_o = {parameters_high_q, parameters_low_q};
  assign frames_o             = frames_q;
  assign parameter_words_o    = parameter_words_q;
  assign config_o             = config_q;
  assign seed_o               = seed_q;

  // Addresses are word addresses: the two lowest bits carry nothing.
  wire unused = &{1'b0, axi_awaddr_i[1:0], axi_araddr_i[1:0]};

  always_comb begin
    case (read_word)
      CONTROL:         rdata_d = {28'd0, ready_q, idle_i, done_q, start_q};
      GIE:             rdata_d = {31'd0, gie_q};
      IER:             rdata_d = {30'd0, ier_q};
      ISR:             rdata_d = {30'd0, isr_q};
      INPUT_LOW:       rdata_d = input_low_q;
      INPUT_HIGH:      rdata_d = input_high_q;
      OUTPUT_LOW:      rdata_d = output_low_q;
      OUTPUT_HIGH:     rdata_d = output_high_q;
      PARAMETERS_LOW:  rdata_d = parameters_low_q;
      PARAMETERS_HIGH: rdata_d = parameters_high_q;
      FRAMES:          rdata_d = frames_q;
      PARAMETER_WORDS: rdata_d = parameter_words_q;
      CONFIGURATION:   rdata_d = config_q;
      SEED:            rdata_d = seed_q;
      STATUS:          rdata_d = status_i;
      FRAMES_DONE:     rdata_d = frames_done_i;
      CYCLES_LOW:      rdata_d = cycles_i[31:0];
      CYCLES_HIGH:     rdata_d = cycles_i[63:32];
      default:         rdata_d = 32'd0;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (write) begin
      case (write_word)
        INPUT_LOW:       input_low_q       <= (axi_wdata_i & mask) | (input_low_q & ~mask);
        INPUT_HIGH:      input_high_q      <= (axi_wdata_i & mask) | (input_high_q & ~mask);
        OUTPUT_LOW:      output_low_q      <= (axi_wdata_i & mask) | (output_low_q & ~mask);
        OUTPUT_HIGH:     output_high_q     <= (axi_wdata_i & mask) | (output_high_q & ~mask);
        PARAMETERS_LOW:  parameters_low_q  <= (axi_wdata_i & mask) | (parameters_low_q & ~mask);
        PARAMETERS_HIGH: parameters_high_q <= (axi_wdata_i & mask) | (parameters_high_q & ~mask);
        FRAMES:          frames_q          <= (axi_wdata_i & mask) | (frames_q & ~mask);
        PARAMETER_WORDS: parameter_words_q <= (axi_wdata_i & mask) | (parameter_words_q & ~mask);
        CONFIGURATION:   config_q          <= (axi_wdata_i & mask) | (config_q & ~mask);
        SEED:            seed_q            <= (axi_wdata_i & mask) | (seed_q & ~mask);
        default: ;
      endcase
    end
    if (read) rdata_q <= rdata_d;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      start_q  <= 1'b0;
      done_q   <= 1'b0;
      ready_q  <= 1'b0;
      gie_q    <= 1'b0;
      ier_q    <= 2'b00;
      isr_q    <= 2'b00;
      bvalid_q <= 1'b0;
      rvalid_q <= 1'b0;
    end else begin
      if (write) bvalid_q <= 1'b1;
      else if (axi_bready_i) bvalid_q <= 1'b0;
      if (read) rvalid_q <= 1'b1;
      else if (axi_rready_i) rvalid_q <= 1'b0;

      if (write_byte_0 && write_word == CONTROL && axi_wdata_i[0]) start_q <= 1'b1;
      else if (taken_i) start_q <= 1'b0;

      if (finished_i) done_q <= 1'b1;
      else if (write_byte_0 && write_word == CONTROL && axi_wdata_i[4]) done_q <= 1'b0;

      if (taken_i) ready_q <= 1'b1;
      else if (read && read_word == CONTROL) ready_q <= 1'b0;

      if (write_byte_0 && write_word == GIE) gie_q <= axi_wdata_i[0];
      if (write_byte_0 && write_word == IER) ier_q <= axi_wdata_i[1:0];
      for (int i = 0; i < 2; i++) begin
        if (ier_q[i] && (i == 0 ? finished_i : taken_i)) isr_q[i] <= 1'b1;
        else if (write_byte_0 && write_word == ISR && axi_wdata_i[i]) isr_q[i] <= ~isr_q[i];
      end
    end
  end

  axi_lite_check check_port (
    .clk_i, .rst_ni,
    .awvalid_i(axi_awvalid_i), .awready_i(axi_awready_o), .wvalid_i(axi_wvalid_i), .wready_i(axi_wready_o),
    .bresp_i(axi_bresp_o), .bvalid_i(axi_bvalid_o), .bready_i(axi_bready_i),
    .arvalid_i(axi_arvalid_i), .arready_i(axi_arready_o), .rdata_i(axi_rdata_o), .rresp_i(axi_rresp_o),
    .rvalid_i(axi_rvalid_o), .rready_i(axi_rready_i)
  );
endmodule
