  // Registers, masters and the course of a run of a tensor kernel. Parameters: LANES, ACTIVATIONS, PIXELS, LINE, KEPT, FAMILY,
  // BFLOAT16, INT16, INT32, FLOAT32.
  //
  // `parameters` is the program of `parameter words` words, `input` a buffer of `configuration` words, `output` one of `seed`
  // words. Behind the output buffer the run leaves three words: the first two are those of kernel_shell.sv, with 1 frame done
  // if the status is 0; the third is the status (7:0) and the index of the command at which the run ended (31:8). Output
  // address 0 leaves them out. `frames` is not used.
  assign m_axi_gmem_awsize  = 3'b011;
  assign m_axi_gmem_awburst = 2'b01;
  assign m_axi_gmem_wstrb   = 8'hff;
  assign m_axi_gmem_arsize  = 3'b011;
  assign m_axi_gmem_arburst = 2'b01;

  localparam logic [15:0] MARK = 16'h7b17;
  typedef enum logic [2:0] {Idle, Begin, Run, AskReport, Report, Settle} state_e;
  state_e state_q;

  logic        start, control_done, unit_done;
  logic [63:0] input_address, output_address, parameters_address;
  logic [31:0] frames, parameter_words, input_words, output_words;
  logic [63:0] input_q, output_q, parameters_q, cycles_q, report_cycles_q;
  logic [31:0] parameter_words_q, input_words_q, output_words_q;
  logic [1:0]  word_q;
  logic [2:0]  unit_status;
  logic [7:0]  status;
  logic [23:0] command_index;
  logic [1:0]  read_error;
  logic        write_error;

  wire taken    = (state_q == Idle) & start & ~control_done;
  logic write_ready, write_data_ready;
  wire finished = (state_q == Settle) & write_ready;
  // A failed transfer explains every other fault.
  assign status = read_error != '0 ? 8'(tensor_pkg::READ_FAILED)
                : write_error ? 8'(tensor_pkg::WRITE_FAILED) : 8'(unit_status);

  kernel_control u_control (
    .clk_i(ap_clk), .rst_ni(ap_rst_n),
    .axi_awaddr_i(s_axi_control_awaddr), .axi_awvalid_i(s_axi_control_awvalid),
    .axi_awready_o(s_axi_control_awready), .axi_wdata_i(s_axi_control_wdata), .axi_wstrb_i(s_axi_control_wstrb),
    .axi_wvalid_i(s_axi_control_wvalid), .axi_wready_o(s_axi_control_wready), .axi_bresp_o(s_axi_control_bresp),
    .axi_bvalid_o(s_axi_control_bvalid), .axi_bready_i(s_axi_control_bready),
    .axi_araddr_i(s_axi_control_araddr), .axi_arvalid_i(s_axi_control_arvalid),
    .axi_arready_o(s_axi_control_arready), .axi_rdata_o(s_axi_control_rdata), .axi_rresp_o(s_axi_control_rresp),
    .axi_rvalid_o(s_axi_control_rvalid), .axi_rready_i(s_axi_control_rready), .interrupt_o(interrupt),
    .start_o(start), .taken_i(taken), .finished_i(finished), .idle_i(state_q == Idle), .done_o(control_done),
    .input_address_o(input_address), .output_address_o(output_address),
    .parameters_address_o(parameters_address), .frames_o(frames), .parameter_words_o(parameter_words),
    .config_o(input_words), .seed_o(output_words),
    .status_i({command_index[15:0], status, 6'd0, write_error, |read_error}),
    .frames_done_i({31'd0, status == '0}), .cycles_i(cycles_q)
  );

  // Reader 0 is that of LOAD, reader 1 that of the program.
  logic [1:0]   arvalid, arready, rvalid, rready;
  logic [127:0] araddr;
  logic [15:0]  arlen;
  tensor_read_mux u_mux (
    .clk_i(ap_clk), .rst_ni(ap_rst_n), .arvalid_i(arvalid), .arready_o(arready), .araddr_i(araddr), .arlen_i(arlen),
    .rvalid_o(rvalid), .rready_i(rready),
    .axi_araddr_o(m_axi_gmem_araddr), .axi_arlen_o(m_axi_gmem_arlen), .axi_arvalid_o(m_axi_gmem_arvalid),
    .axi_arready_i(m_axi_gmem_arready), .axi_rlast_i(m_axi_gmem_rlast), .axi_rvalid_i(m_axi_gmem_rvalid),
    .axi_rready_o(m_axi_gmem_rready)
  );

  logic        read_valid, read_ready, read_data_valid, read_data_ready;
  logic [63:0] read_base, read_data;
  logic [31:0] read_words;
  axi_read_master #(.MAX_BURST(MAX_BURST), .DEPTH(256)) u_read (
    .clk_i(ap_clk), .rst_ni(ap_rst_n), .cmd_address_i(read_base), .cmd_words_i(read_words), .cmd_valid_i(read_valid),
    .cmd_ready_o(read_ready), .out_data_o(read_data), .out_valid_o(read_data_valid), .out_ready_i(read_data_ready),
    .error_o(read_error[0]), .error_clear_i(taken), .axi_araddr_o(araddr[63:0]), .axi_arlen_o(arlen[7:0]),
    .axi_arvalid_o(arvalid[0]), .axi_arready_i(arready[0]), .axi_rdata_i(m_axi_gmem_rdata),
    .axi_rresp_i(m_axi_gmem_rresp), .axi_rvalid_i(rvalid[0]), .axi_rready_o(rready[0])
  );

  logic        program_idle, program_valid, program_ready;
  logic [63:0] program_data;
  axi_read_master #(.MAX_BURST(MAX_BURST), .DEPTH(256)) u_program (
    .clk_i(ap_clk), .rst_ni(ap_rst_n), .cmd_address_i(parameters_q), .cmd_words_i(parameter_words_q),
    .cmd_valid_i(state_q == Begin), .cmd_ready_o(program_idle), .out_data_o(program_data),
    .out_valid_o(program_valid), .out_ready_i(program_ready), .error_o(read_error[1]), .error_clear_i(taken),
    .axi_araddr_o(araddr[127:64]), .axi_arlen_o(arlen[15:8]), .axi_arvalid_o(arvalid[1]), .axi_arready_i(arready[1]),
    .axi_rdata_i(m_axi_gmem_rdata), .axi_rresp_i(m_axi_gmem_rresp), .axi_rvalid_i(rvalid[1]),
    .axi_rready_o(rready[1])
  );

  logic        write_valid, write_data_valid;
  logic [63:0] write_base, write_data, report;
  logic [31:0] write_words;
  always_comb begin
    unique case (word_q)
      2'd0:    report = {MARK, 14'd0, write_error, |read_error, 31'd0, status == '0};
      2'd1:    report = report_cycles_q;
      default: report = {32'd0, command_index, status};
    endcase
  end
  axi_write_master #(.MAX_BURST(MAX_BURST), .DEPTH(256)) u_write (
    .clk_i(ap_clk), .rst_ni(ap_rst_n),
    .cmd_address_i(state_q == AskReport ? output_q + {29'd0, output_words_q, 3'b000} : write_base),
    .cmd_words_i(state_q == AskReport ? 32'd3 : write_words), .cmd_valid_i(write_valid | (state_q == AskReport)),
    .cmd_ready_o(write_ready), .in_data_i(state_q == Report ? report : write_data),
    .in_valid_i(write_data_valid | (state_q == Report)), .in_ready_o(write_data_ready), .error_o(write_error),
    .error_clear_i(taken), .axi_awaddr_o(m_axi_gmem_awaddr), .axi_awlen_o(m_axi_gmem_awlen),
    .axi_awvalid_o(m_axi_gmem_awvalid), .axi_awready_i(m_axi_gmem_awready), .axi_wdata_o(m_axi_gmem_wdata),
    .axi_wlast_o(m_axi_gmem_wlast), .axi_wvalid_o(m_axi_gmem_wvalid), .axi_wready_i(m_axi_gmem_wready),
    .axi_bresp_i(m_axi_gmem_bresp), .axi_bvalid_i(m_axi_gmem_bvalid), .axi_bready_o(m_axi_gmem_bready)
  );

  tensor_unit #(
    .LANES(LANES), .ACTIVATIONS(ACTIVATIONS), .PIXELS(PIXELS), .LINE(LINE), .KEPT(KEPT), .FAMILY(FAMILY), .BFLOAT16(BFLOAT16),
    .INT16(INT16), .INT32(INT32), .FLOAT32(FLOAT32)
  ) u_block (
    .clk_i(ap_clk), .rst_ni(ap_rst_n), .start_i((state_q == Begin) & program_idle),
    .program_words_i(parameter_words_q), .input_base_i(input_q), .output_base_i(output_q),
    .input_words_i(input_words_q), .output_words_i(output_words_q), .done_o(unit_done), .status_o(unit_status),
    .command_index_o(command_index), .program_data_i(program_data), .program_valid_i(program_valid),
    .program_ready_o(program_ready), .read_valid_o(read_valid), .read_base_o(read_base), .read_words_o(read_words),
    .read_ready_i(read_ready), .read_data_i(read_data), .read_data_valid_i(read_data_valid),
    .read_data_ready_o(read_data_ready), .write_valid_o(write_valid), .write_base_o(write_base),
    .write_words_o(write_words), .write_ready_i(write_ready), .write_data_o(write_data),
    .write_data_valid_o(write_data_valid), .write_data_ready_i(write_data_ready)
  );

  wire reports = output_q != '0;
  wire unused  = &{1'b0, frames, command_index[23:16]};
  always_ff @(posedge ap_clk) begin
    if (taken) begin
      input_q           <= input_address;
      output_q          <= output_address;
      parameters_q      <= parameters_address;
      parameter_words_q <= parameter_words;
      input_words_q     <= input_words;
      output_words_q    <= output_words;
    end
    if (taken) cycles_q <= '0;
    else if (state_q != Idle) cycles_q <= cycles_q + 64'd1;
    if (state_q == AskReport) report_cycles_q <= cycles_q;
    word_q <= state_q != Report ? '0 : word_q + 2'(write_data_ready);
  end

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      state_q <= Idle;
    end else begin
      unique case (state_q)
        Idle:      if (taken) state_q <= Begin;
        Begin:     if (program_idle) state_q <= Run;
        Run:       if (unit_done) state_q <= reports ? AskReport : Settle;
        AskReport: if (write_ready) state_q <= Report;
        Report:    if (write_data_ready && word_q == 2'd2) state_q <= Settle;
        Settle:    if (write_ready) state_q <= Idle;
        default:   state_q <= Idle;
      endcase
    end
  end

  axi_master_check #(.MAX_BURST(MAX_BURST)) check_port (
    .clk_i(ap_clk), .rst_ni(ap_rst_n),
    .awaddr_i(m_axi_gmem_awaddr), .awlen_i(m_axi_gmem_awlen), .awvalid_i(m_axi_gmem_awvalid),
    .awready_i(m_axi_gmem_awready), .wlast_i(m_axi_gmem_wlast), .wvalid_i(m_axi_gmem_wvalid),
    .wready_i(m_axi_gmem_wready), .araddr_i(m_axi_gmem_araddr), .arlen_i(m_axi_gmem_arlen),
    .arvalid_i(m_axi_gmem_arvalid)
  );
