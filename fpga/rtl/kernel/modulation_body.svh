  // The block of a modulation kernel with COLUMNS and ROWS.
  assign in_words  = 16'd32;
  assign out_words = 16'd5;
  wire unused = &{1'b0, configuration, seed, start};

  modulation #(.FAMILY(FAMILY), .COLUMNS(COLUMNS), .ROWS(ROWS)) u_block (
    .clk_i(ap_clk), .rst_ni(ap_rst_n),
    .load_data_i(load_data), .load_valid_i(load_valid), .load_ready_o(load_ready),
    .in_data_i(in_data), .in_valid_i(in_valid), .in_ready_o(in_ready),
    .out_data_o(out_data), .out_valid_o(out_valid), .out_ready_i(out_ready)
  );
