// Pixels in raster order to 3×3 windows, one per cycle, image after image without a gap.
//
// Four row buffers: three are read while the next row arrives. Both sides count pixels without an end, so that the next
// image simply continues; a window never needs a pixel of the next image, and an image's last windows come out whether or
// not another one follows. Windows are emitted for every pixel, with zeros around the image (cfg_pad_i), or for the inner
// (WIDTH-2) × (HEIGHT-2) pixels. cfg_pad_i is taken with an image's first pixel: without padding the last results leave
// while the last row is still being passed over, and the next image may want otherwise.
module window_3x3 #(
  parameter int WIDTH  = 28,  // 4 … 64
  parameter int HEIGHT = 28   // at least 4
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        cfg_pad_i,
  input  logic [7:0]  in_data_i,
  input  logic        in_valid_i,
  output logic        in_ready_o,
  output logic [71:0] out_data_o,  // byte 3·row + column
  output logic        out_valid_o,
  input  logic        out_ready_i
);
  localparam int XW = $clog2(WIDTH);
  localparam int YW = $clog2(HEIGHT);
  localparam int AW = $clog2(3 * WIDTH + 1);
  localparam logic [XW-1:0] LAST_X = XW'(WIDTH - 1);
  localparam logic [YW-1:0] LAST_Y = YW'(HEIGHT - 1);

  // Write side: row buffer and column of the next pixel.
  logic [1:0]    write_row_q;
  logic [XW-1:0] write_x_q;
  logic          put;

  // Fetch side: column x of the rows y-1, y, y+1; row y lies in buffer row_q.
  logic [1:0]    row_q;
  logic [XW-1:0] x_q;
  logic [YW-1:0] y_q;
  logic          fetch;

  // Pixels written and not yet fetched as the middle row. A pixel may replace the one four rows before it:
  // the fetch of the row after that one has used it. So the write side is 3 · WIDTH ahead at most.
  logic [AW-1:0] ahead_q;
  assign in_ready_o = ahead_q != AW'(3 * WIDTH);
  assign put        = in_valid_i && in_ready_o;

  // The fetch needs the row below. The last row has none, and is there as a whole: the row before it needed it.
  logic available;
  assign available = y_q == LAST_Y || ahead_q > AW'(WIDTH);

  // The window of a row's last pixel needs no new column. It is emitted with the fetch of the next row's
  // first column or, if that has not arrived, by a step of its own.
  logic pending_q, step_free, emit, left_edge, right_edge;
  assign step_free  = out_ready_i || !out_valid_o;
  assign fetch      = step_free && available;
  assign left_edge  = x_q == XW'(1);
  assign right_edge = x_q == '0;

  logic pad_q;
  always_comb begin
    if (x_q == '0) emit = pending_q;
    else if (pad_q) emit = available;
    else emit = available && x_q != XW'(1) && y_q != '0 && y_q != LAST_Y;
  end

  logic [7:0] buffer0[WIDTH];
  logic [7:0] buffer1[WIDTH];
  logic [7:0] buffer2[WIDTH];
  logic [7:0] buffer3[WIDTH];
  always_ff @(posedge clk_i) begin
    if (put && write_row_q == 2'd0) buffer0[write_x_q] <= in_data_i;
    if (put && write_row_q == 2'd1) buffer1[write_x_q] <= in_data_i;
    if (put && write_row_q == 2'd2) buffer2[write_x_q] <= in_data_i;
    if (put && write_row_q == 2'd3) buffer3[write_x_q] <= in_data_i;
  end

  logic [7:0] pixel0, pixel1, pixel2, pixel3, above, middle, below;
  assign pixel0 = buffer0[x_q];
  assign pixel1 = buffer1[x_q];
  assign pixel2 = buffer2[x_q];
  assign pixel3 = buffer3[x_q];
  always_comb begin
    unique case (row_q)
      2'd0: {above, middle, below} = {pixel3, pixel0, pixel1};
      2'd1: {above, middle, below} = {pixel0, pixel1, pixel2};
      2'd2: {above, middle, below} = {pixel1, pixel2, pixel3};
      2'd3: {above, middle, below} = {pixel2, pixel3, pixel0};
    endcase
  end

  // Columns of the window, {below, middle, above}. The edges are cleared after the registers, because a
  // column is still a neighbour in its own row.
  logic [23:0] left_q, centre_q, right_q;
  logic        valid_q, blank_left_q, blank_right_q;
  always_ff @(posedge clk_i) begin
    if (step_free && (fetch || emit)) begin
      left_q   <= centre_q;
      centre_q <= right_q;
      right_q  <= {(y_q == LAST_Y) ? 8'd0 : below, middle, (y_q == '0) ? 8'd0 : above};
      blank_left_q  <= left_edge;
      blank_right_q <= right_edge;
    end
  end

  logic [23:0] left, right;
  assign left        = blank_left_q ? '0 : left_q;
  assign right       = blank_right_q ? '0 : right_q;
  assign out_valid_o = valid_q;
  for (genvar i = 0; i < 3; i++) begin : gen_window
    assign out_data_o[24*i+:24] = {right[8*i+:8], centre_q[8*i+:8], left[8*i+:8]};
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_row_q <= '0;
      write_x_q   <= '0;
      row_q       <= '0;
      x_q         <= '0;
      y_q         <= '0;
      ahead_q     <= '0;
      pending_q   <= 1'b0;
      valid_q     <= 1'b0;
    end else begin
      if (put) begin
        write_x_q <= (write_x_q == LAST_X) ? '0 : write_x_q + 1'b1;
        if (write_x_q == LAST_X) write_row_q <= write_row_q + 1'b1;
      end
      if (fetch) begin
        x_q <= (x_q == LAST_X) ? '0 : x_q + 1'b1;
        if (x_q == LAST_X) begin
          row_q <= row_q + 1'b1;
          y_q   <= (y_q == LAST_Y) ? '0 : y_q + 1'b1;
        end
      end
      ahead_q <= ahead_q + AW'(put) - AW'(fetch);
      if (step_free) valid_q <= emit;
      if (step_free) pending_q <= fetch ? pad_q && x_q == LAST_X : pending_q && !emit;
    end
    if (fetch && x_q == '0 && y_q == '0) pad_q <= cfg_pad_i;
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) rows_in_range : assert (ahead_q <= AW'(3 * WIDTH));
  end

  stream_check #(.WIDTH(72)) check_out (
    .clk_i, .rst_ni, .data_i(out_data_o), .valid_i(out_valid_o), .ready_i(out_ready_i)
  );
endmodule
