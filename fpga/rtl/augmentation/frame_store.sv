// Stores whole 28×28 images and reads each in an order that a table gives.
//
// Four banks of 32 × 32 bytes: one is written, one read. The other two keep both sides from waiting for the
// pipeline between them, and images follow one another every 784 cycles. A position (row, column) goes out to
// the table, which answers one step later with the source; step_o enables its registers. cfg_repeat_i:
// further passes over each image.
module frame_store (
  input  logic       clk_i,
  input  logic       rst_ni,
  input  logic [1:0] cfg_repeat_i,
  input  logic [7:0] in_data_i,
  input  logic       in_valid_i,
  output logic       in_ready_o,
  // The table.
  output logic       step_o,
  output logic [4:0] row_o,
  output logic [4:0] column_o,
  input  logic [4:0] from_row_i,
  input  logic [4:0] from_column_i,
  input  logic       inside_i,  // otherwise the pixel is 0
  // One pulse with the last position of each pass: time to choose for the next.
  output logic       pass_done_o,
  output logic [7:0] out_data_o,
  output logic       out_valid_o,
  input  logic       out_ready_i
);
  localparam logic [4:0] LAST = 5'd27;

  logic [7:0] memory[4096];  // {bank, row, column}

  // Write side.
  logic [1:0] write_bank_q;
  logic [4:0] write_row_q, write_column_q;
  logic       put, put_last;
  // Completely stored images that are not yet completely read.
  logic [2:0] stored_q;
  logic       release_bank;
  assign in_ready_o = stored_q != 3'd4;
  assign put        = in_valid_i && in_ready_o;
  assign put_last   = put && write_row_q == LAST && write_column_q == LAST;

  // Read side: position, table, memory, each one step. A bank is given back only when its last pixel has been read.
  logic [1:0] bank_q, table_bank_q, pass_q;
  logic [4:0] row_q, column_q;
  logic       step, issue, issue_last;
  logic       table_valid_q, table_last_q, valid_q, inside_q;
  logic [2:0] started_q;  // images issued completely, not yet given back
  logic [7:0] pixel_q;

  assign step       = out_ready_i || !valid_q;
  assign issue      = step && stored_q != started_q;
  assign issue_last = issue && row_q == LAST && column_q == LAST;
  logic pass_last;
  assign pass_last    = pass_q == cfg_repeat_i;
  assign release_bank = step && table_last_q;

  assign step_o      = step;
  assign row_o       = row_q;
  assign column_o    = column_q;
  assign pass_done_o = issue_last;
  assign out_data_o  = inside_q ? pixel_q : 8'd0;
  assign out_valid_o = valid_q;

  always_ff @(posedge clk_i) begin
    if (put) memory[{write_bank_q, write_row_q, write_column_q}] <= in_data_i;
    if (step) pixel_q <= memory[{table_bank_q, from_row_i, from_column_i}];
  end

  always_ff @(posedge clk_i) begin
    if (step) begin
      table_bank_q <= bank_q;
      inside_q     <= inside_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_bank_q   <= '0;
      write_row_q    <= '0;
      write_column_q <= '0;
      bank_q         <= '0;
      row_q          <= '0;
      column_q       <= '0;
      pass_q         <= '0;
      stored_q       <= '0;
      started_q      <= '0;
      table_valid_q  <= 1'b0;
      table_last_q   <= 1'b0;
      valid_q        <= 1'b0;
    end else begin
      if (put) begin
        write_column_q <= (write_column_q == LAST) ? '0 : write_column_q + 1'b1;
        if (write_column_q == LAST) write_row_q <= (write_row_q == LAST) ? '0 : write_row_q + 1'b1;
      end
      if (put_last) write_bank_q <= write_bank_q + 1'b1;
      if (issue) begin
        column_q <= (column_q == LAST) ? '0 : column_q + 1'b1;
        if (column_q == LAST) row_q <= (row_q == LAST) ? '0 : row_q + 1'b1;
      end
      if (issue_last) begin
        pass_q <= pass_last ? '0 : pass_q + 1'b1;
        if (pass_last) bank_q <= bank_q + 1'b1;
      end
      if (step) begin
        table_valid_q <= issue;
        table_last_q  <= issue_last && pass_last;
        valid_q       <= table_valid_q;
      end
      stored_q  <= stored_q + 3'(put_last) - 3'(release_bank);
      started_q <= started_q + 3'(issue_last && pass_last) - 3'(release_bank);
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      banks_in_range : assert (stored_q <= 3'd4 && started_q <= stored_q);
    end
  end

  stream_check #(.WIDTH(8)) check_out (
    .clk_i, .rst_ni, .data_i(out_data_o), .valid_i(out_valid_o), .ready_i(out_ready_i)
  );
endmodule
