  // The shell of every kernel and the wires to its block. Bursts are incrementing, of whole 64-bit words.
  assign m_axi_gmem_awsize  = 3'b011;
  assign m_axi_gmem_awburst = 2'b01;
  assign m_axi_gmem_wstrb   = 8'hff;
  assign m_axi_gmem_arsize  = 3'b011;
  assign m_axi_gmem_arburst = 2'b01;
  // The read master counts words; it does not need the last mark.
  wire unused_rlast = m_axi_gmem_rlast;

  logic        start;
  logic [31:0] configuration, seed;
  logic [15:0] in_words, out_words;
  logic [63:0] load_data, in_data, out_data;
  logic        load_valid, load_ready, in_valid, in_ready, out_valid, out_ready;

  kernel_shell #(.MAX_BURST(MAX_BURST), .DEPTH(256)) u_shell (
    .clk_i(ap_clk), .rst_ni(ap_rst_n),
    .control_awaddr_i(s_axi_control_awaddr), .control_awvalid_i(s_axi_control_awvalid),
    .control_awready_o(s_axi_control_awready), .control_wdata_i(s_axi_control_wdata),
    .control_wstrb_i(s_axi_control_wstrb), .control_wvalid_i(s_axi_control_wvalid),
    .control_wready_o(s_axi_control_wready), .control_bresp_o(s_axi_control_bresp),
    .control_bvalid_o(s_axi_control_bvalid), .control_bready_i(s_axi_control_bready),
    .control_araddr_i(s_axi_control_araddr), .control_arvalid_i(s_axi_control_arvalid),
    .control_arready_o(s_axi_control_arready), .control_rdata_o(s_axi_control_rdata),
    .control_rresp_o(s_axi_control_rresp), .control_rvalid_o(s_axi_control_rvalid),
    .control_rready_i(s_axi_control_rready), .interrupt_o(interrupt),
    .axi_awaddr_o(m_axi_gmem_awaddr), .axi_awlen_o(m_axi_gmem_awlen),
    .axi_awvalid_o(m_axi_gmem_awvalid), .axi_awready_i(m_axi_gmem_awready),
    .axi_wdata_o(m_axi_gmem_wdata), .axi_wlast_o(m_axi_gmem_wlast),
    .axi_wvalid_o(m_axi_gmem_wvalid), .axi_wready_i(m_axi_gmem_wready),
    .axi_bresp_i(m_axi_gmem_bresp), .axi_bvalid_i(m_axi_gmem_bvalid), .axi_bready_o(m_axi_gmem_bready),
    .axi_araddr_o(m_axi_gmem_araddr), .axi_arlen_o(m_axi_gmem_arlen),
    .axi_arvalid_o(m_axi_gmem_arvalid), .axi_arready_i(m_axi_gmem_arready),
    .axi_rdata_i(m_axi_gmem_rdata), .axi_rresp_i(m_axi_gmem_rresp),
    .axi_rvalid_i(m_axi_gmem_rvalid), .axi_rready_o(m_axi_gmem_rready),
    .start_o(start), .config_o(configuration), .seed_o(seed),
    .in_words_i(in_words), .out_words_i(out_words),
    .load_data_o(load_data), .load_valid_o(load_valid), .load_ready_i(load_ready),
    .in_data_o(in_data), .in_valid_o(in_valid), .in_ready_i(in_ready),
    .out_data_i(out_data), .out_valid_i(out_valid), .out_ready_o(out_ready)
  );
