// The common part of every kernel: registers, the two AXI masters and the sequence of a run.
//
// A run: first `parameter words` words go from the parameters address to the block's load stream; then
// frames × IN words from the input address to the block and frames × OUT words back to the output
// address; then, when all of that has been answered, two words behind the output:
//   word 0   bits 31:0 frames done, 32 a read failed, 33 a write failed, 63:48 the mark 16'h7b17
//   word 1   clock cycles from taking the run until then
// The host clears the mark before it starts a run: without it the results were not computed. Output
// address 0 leaves these words out. A run with frames = 0 and no parameter words is an empty one.
module kernel_shell #(
  parameter int MAX_BURST = 64,
  parameter int DEPTH = 256
) (
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic [6:0]  control_awaddr_i,
  input  logic        control_awvalid_i,
  output logic        control_awready_o,
  input  logic [31:0] control_wdata_i,
  input  logic [3:0]  control_wstrb_i,
  input  logic        control_wvalid_i,
  output logic        control_wready_o,
  output logic [1:0]  control_bresp_o,
  output logic        control_bvalid_o,
  input  logic        control_bready_i,
  input  logic [6:0]  control_araddr_i,
  input  logic        control_arvalid_i,
  output logic        control_arready_o,
  output logic [31:0] control_rdata_o,
  output logic [1:0]  control_rresp_o,
  output logic        control_rvalid_o,
  input  logic        control_rready_i,
  output logic        interrupt_o,

  output logic [63:0] axi_awaddr_o,
  output logic [7:0]  axi_awlen_o,
  output logic        axi_awvalid_o,
  input  logic        axi_awready_i,
  output logic [63:0] axi_wdata_o,
  output logic        axi_wlast_o,
  output logic        axi_wvalid_o,
  input  logic        axi_wready_i,
  input  logic [1:0]  axi_bresp_i,
  input  logic        axi_bvalid_i,
  output logic        axi_bready_o,
  output logic [63:0] axi_araddr_o,
  output logic [7:0]  axi_arlen_o,
  output logic        axi_arvalid_o,
  input  logic        axi_arready_i,
  input  logic [63:0] axi_rdata_i,
  input  logic [1:0]  axi_rresp_i,
  input  logic        axi_rvalid_i,
  output logic        axi_rready_o,

  // The block. Its configuration does not change during a run; words per frame may depend on it.
  output logic        start_o,          // a run begins (one cycle)
  output logic [31:0] config_o,
  output logic [31:0] seed_o,
  input  logic [15:0] in_words_i,
  input  logic [15:0] out_words_i,
  output logic [63:0] load_data_o,
  output logic        load_valid_o,
  input  logic        load_ready_i,
  output logic [63:0] in_data_o,
  output logic        in_valid_o,
  input  logic        in_ready_i,
  input  logic [63:0] out_data_i,
  input  logic        out_valid_i,
  output logic        out_ready_o
);
  localparam logic [15:0] MARK = 16'h7b17;

  typedef enum logic [3:0] {
    Idle, Begin, Size, AskLoad, Load, AskInput, AskOutput, Run, AskReport, Report, Settle
  } state_e;
  state_e state_q, state_d;

  logic        start, done, cmd_read, cmd_read_ready, cmd_write, cmd_write_ready;
  logic        read_error, write_error;
  logic [63:0] input_address, output_address, parameters_address;
  logic [31:0] frames, parameter_words, configuration, seed;

  // The arguments of the run, taken with it: the host may write the next ones meanwhile.
  logic [63:0] input_q, output_q, parameters_q, cycles_q;
  logic [31:0] parameter_words_q, config_q, seed_q;
  logic [31:0] in_total_q, out_total_q;     // words of the run
  logic [31:0] in_step_q, out_step_q;
  logic [31:0] unmultiplied_q;
  logic [31:0] remaining_q;                 // remaining words of the present stream
  logic [31:0] frames_done_q;
  logic [15:0] frame_words_q;               // words of the present output frame
  logic        report_second_q;
  logic [63:0] report_cycles_q;

  wire taken    = (state_q == Idle) & start & ~done;
  wire finished = (state_q == Settle) & cmd_write_ready;

  logic [63:0] read_data;
  logic        read_valid, read_ready, write_valid, write_ready;
  logic [63:0] write_data, report_data;

  kernel_control u_control (
    .clk_i, .rst_ni,
    .axi_awaddr_i(control_awaddr_i), .axi_awvalid_i(control_awvalid_i), .axi_awready_o(control_awready_o),
    .axi_wdata_i(control_wdata_i), .axi_wstrb_i(control_wstrb_i), .axi_wvalid_i(control_wvalid_i),
    .axi_wready_o(control_wready_o), .axi_bresp_o(control_bresp_o), .axi_bvalid_o(control_bvalid_o),
    .axi_bready_i(control_bready_i), .axi_araddr_i(control_araddr_i), .axi_arvalid_i(control_arvalid_i),
    .axi_arready_o(control_arready_o), .axi_rdata_o(control_rdata_o), .axi_rresp_o(control_rresp_o),
    .axi_rvalid_o(control_rvalid_o), .axi_rready_i(control_rready_i), .interrupt_o,
    .start_o(start), .taken_i(taken), .finished_i(finished), .idle_i(state_q == Idle), .done_o(done),
    .input_address_o(input_address), .output_address_o(output_address),
    .parameters_address_o(parameters_address), .frames_o(frames), .parameter_words_o(parameter_words),
    .config_o(configuration), .seed_o(seed),
    .status_i({30'd0, write_error, read_error}), .frames_done_i(frames_done_q), .cycles_i(cycles_q)
  );

  axi_read_master #(.MAX_BURST(MAX_BURST), .DEPTH(DEPTH)) u_read (
    .clk_i, .rst_ni,
    .cmd_address_i(state_q == AskLoad ? parameters_q : input_q),
    .cmd_words_i(state_q == AskLoad ? parameter_words_q : in_total_q),
    .cmd_valid_i(cmd_read), .cmd_ready_o(cmd_read_ready),
    .out_data_o(read_data), .out_valid_o(read_valid), .out_ready_i(read_ready),
    .error_o(read_error), .error_clear_i(taken),
    .axi_araddr_o, .axi_arlen_o, .axi_arvalid_o, .axi_arready_i,
    .axi_rdata_i, .axi_rresp_i, .axi_rvalid_i, .axi_rready_o
  );

  axi_write_master #(.MAX_BURST(MAX_BURST), .DEPTH(DEPTH)) u_write (
    .clk_i, .rst_ni,
    .cmd_address_i(state_q == AskReport ? output_q + {29'd0, out_total_q, 3'b000} : output_q),
    .cmd_words_i(state_q == AskReport ? 32'd2 : out_total_q),
    .cmd_valid_i(cmd_write), .cmd_ready_o(cmd_write_ready),
    .in_data_i(write_data), .in_valid_i(write_valid), .in_ready_o(write_ready),
    .error_o(write_error), .error_clear_i(taken),
    .axi_awaddr_o, .axi_awlen_o, .axi_awvalid_o, .axi_awready_i,
    .axi_wdata_o, .axi_wlast_o, .axi_wvalid_o, .axi_wready_i,
    .axi_bresp_i, .axi_bvalid_i, .axi_bready_o
  );

  assign cmd_read  = (state_q == AskLoad) | (state_q == AskInput);
  assign cmd_write = (state_q == AskOutput) | (state_q == AskReport);

  wire loading = state_q == Load;
  wire running = (state_q == AskOutput) | (state_q == Run);
  assign load_data_o  = read_data;
  assign load_valid_o = loading & read_valid;
  assign in_data_o    = read_data;
  assign in_valid_o   = running & read_valid;
  assign read_ready   = (loading & load_ready_i) | (running & in_ready_i);
  wire loaded = load_valid_o & load_ready_i;

  // The master ignores words that a block delivers beyond its total.
  wire wanted = (state_q == Run) & (remaining_q != '0);
  assign report_data = report_second_q
    ? report_cycles_q : {MARK, 14'd0, write_error, read_error, frames_done_q};
  assign write_data  = state_q == Report ? report_data : out_data_i;
  assign write_valid = (state_q == Report) | (wanted & out_valid_i);
  assign out_ready_o = wanted & write_ready;
  wire delivered = out_valid_i & out_ready_o;

  assign start_o  = state_q == Begin;
  assign config_o = config_q;
  assign seed_o   = seed_q;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Idle:      if (taken) state_d = Begin;
      Begin:     state_d = Size;
      Size:      if (unmultiplied_q == '0) state_d = parameter_words_q != '0 ? AskLoad : AskInput;
      AskLoad:   if (cmd_read_ready) state_d = Load;
      Load:      if (loaded && remaining_q == 32'd1) state_d = AskInput;
      AskInput:  if (cmd_read_ready) state_d = AskOutput;
      AskOutput: if (cmd_write_ready) state_d = Run;
      // The write master is ready again when the last word has been answered.
      Run:       if (remaining_q == '0 && cmd_write_ready) state_d = output_q == '0 ? Settle : AskReport;
      AskReport: if (cmd_write_ready) state_d = Report;
      Report:    if (write_ready && report_second_q) state_d = Settle;
      Settle:    if (cmd_write_ready) state_d = Idle;
      default:   state_d = Idle;
    endcase
  end

  // frames × words by shift and add, one bit of `frames` a cycle: saves a multiplier for an operation per
  // run.
  always_ff @(posedge clk_i) begin
    if (taken) begin
      input_q           <= input_address;
      output_q          <= output_address;
      parameters_q      <= parameters_address;
      parameter_words_q <= parameter_words;
      config_q          <= configuration;
      seed_q            <= seed;
    end
    if (taken) begin
      unmultiplied_q <= frames;
      in_total_q     <= '0;
      out_total_q    <= '0;
    end else if (state_q == Size) begin
      unmultiplied_q <= unmultiplied_q >> 1;
      if (unmultiplied_q[0]) begin
        in_total_q  <= in_total_q + in_step_q;
        out_total_q <= out_total_q + out_step_q;
      end
    end
    // The configuration sets the words per frame; it is known from Begin on.
    in_step_q  <= state_q == Size ? in_step_q << 1 : 32'(in_words_i);
    out_step_q <= state_q == Size ? out_step_q << 1 : 32'(out_words_i);
  end

  always_ff @(posedge clk_i) begin
    if (state_q == AskLoad) remaining_q <= parameter_words_q;
    else if (state_q == AskOutput) remaining_q <= out_total_q;
    else if (loaded || delivered) remaining_q <= remaining_q - 32'd1;

    if (taken) begin
      frames_done_q <= '0;
      frame_words_q <= '0;
    end else if (delivered) begin
      frame_words_q <= frame_words_q + 16'd1 == out_words_i ? '0 : frame_words_q + 16'd1;
      if (frame_words_q + 16'd1 == out_words_i) frames_done_q <= frames_done_q + 32'd1;
    end

    report_second_q <= (state_q == Report) & (report_second_q | write_ready);
    if (state_q == AskReport) report_cycles_q <= cycles_q;
    if (taken) cycles_q <= '0;
    else if (state_q != Idle) cycles_q <= cycles_q + 64'd1;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) state_q <= Idle;
    else state_q <= state_d;
  end

  axi_master_check #(.MAX_BURST(MAX_BURST)) check_port (
    .clk_i, .rst_ni,
    .awaddr_i(axi_awaddr_o), .awlen_i(axi_awlen_o), .awvalid_i(axi_awvalid_o), .awready_i(axi_awready_i),
    .wlast_i(axi_wlast_o), .wvalid_i(axi_wvalid_o), .wready_i(axi_wready_i),
    .araddr_i(axi_araddr_o), .arlen_i(axi_arlen_o), .arvalid_i(axi_arvalid_o)
  );
endmodule
