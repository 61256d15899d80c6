// Goes through the places that a command reads, one per cycle: the patches of a convolution are addresses only.
//
// Two loops over rows and columns stand one in the other. CONVOLVE has the taps outside and the output pixels inside, so that a
// tile of weights stays for all pixels; pools have the pixels outside and their window inside; DEPTHWISE goes once through its
// input with its padding. Around them are the input blocks and the output blocks. An output that takes two cycles of a port, for
// its residual or for a second vector of 32-bit results, is followed by a cycle without a place.
module tensor_address #(
  parameter int ACTIVATIONS = 16384,
  parameter int PIXELS      = 1024,
  parameter int BFLOAT16    = 0,
  parameter int INT16       = 0,
  parameter int FLOAT32     = 0,
  parameter int AW          = $clog2(ACTIVATIONS),
  parameter int PW          = $clog2(PIXELS)
) (
  input  logic          clk_i,
  input  logic          rst_ni,
  input  logic [511:0]  command_i,       // keeps its value from start_i on
  input  logic          start_i,
  input  logic          abort_i,
  output logic          busy_o,
  output logic          bad_address_o,   // a read outside the memory or a pixel without an accumulator

  // What must be there before a tile or a block begins, and that it began.
  input  logic          tile_ready_i,
  output logic          tile_take_o,
  input  logic          taps_ready_i,
  output logic          taps_take_o,
  input  logic          channels_ready_i,
  output logic          channels_claim_o,

  // A place, with what it is for. An output follows from it where output_o says so.
  output logic          valid_o,
  output logic [AW-1:0] address_o,
  output logic          outside_o,       // reads as the pad value
  output logic          first_o,         // of the inner loops
  output logic          last_o,
  output logic          begin_sum_o,     // CONVOLVE: the first tile of a block
  output logic          output_o,
  output logic          first_output_o,  // of a block
  output logic          block_end_o,     // the last place of a block
  output logic [PW-1:0] pixel_o,         // CONVOLVE: the accumulator
  output logic [11:0]   column_o,        // DEPTHWISE: the column of the padded input
  // The residual of the output before; never together with valid_o.
  output logic          residual_o
);
  localparam int W = tensor_pkg::ADDRESS_BITS;
  typedef enum logic [1:0] {Idle, Prepare, Run, Second} state_e;
  state_e state_q;

  wire [7:0]         opcode        = command_i[7:0];
  wire [7:0]         precision     = command_i[15:8];
  wire               floats        = (BFLOAT16 != 0 && precision == tensor_pkg::BFLOAT16) ||
                                     (FLOAT32 != 0 && precision == tensor_pkg::FLOAT32);
  wire               two_vectors   = (BFLOAT16 != 0 || INT16 != 0) && command_i[16+4];
  wire               with_residual = command_i[16+2];
  wire [15:0]        input_blocks  = command_i[47:32];
  wire [15:0]        blocks        = command_i[63:48];
  wire [W-1:0]       input_address = command_i[64+:W];
  wire [W-1:0]       input_plane   = command_i[96+:W];
  wire [15:0]        height        = command_i[128+:16];
  wire [15:0]        width         = command_i[144+:16];
  wire signed [15:0] origin_y      = command_i[160+:16];
  wire signed [15:0] origin_x      = command_i[176+:16];
  wire [15:0]        out_height    = command_i[192+:16];
  wire [15:0]        out_width     = command_i[208+:16];
  wire [7:0]         kernel_height = command_i[224+:8];
  wire [7:0]         kernel_width  = command_i[232+:8];
  wire [7:0]         stride_y      = command_i[240+:8];
  wire [7:0]         stride_x      = command_i[248+:8];
  wire [W-1:0]       residual_address = command_i[320+:W];
  wire [W-1:0]       residual_plane   = command_i[352+:W];

  wire convolve  = opcode == tensor_pkg::CONVOLVE;
  wire depthwise = opcode == tensor_pkg::DEPTHWISE;

  // Limits and steps of the loops.
  logic [11:0] outer_rows, outer_cols, inner_rows, inner_cols;
  logic [3:0]  outer_dy, outer_dx, inner_dy, inner_dx;
  always_comb begin
    if (convolve) begin
      {outer_rows, outer_cols} = {4'd0, kernel_height, 4'd0, kernel_width};
      {inner_rows, inner_cols} = {out_height[11:0], out_width[11:0]};
      {outer_dy, outer_dx}     = {4'd1, 4'd1};
      {inner_dy, inner_dx}     = {stride_y[3:0], stride_x[3:0]};
    end else if (depthwise) begin
      {outer_rows, outer_cols} = {12'd1, 12'd1};
      inner_rows = ((out_height[11:0] - 12'd1) << (stride_y[1])) + 12'd3;
      inner_cols = ((out_width[11:0] - 12'd1) << (stride_x[1])) + 12'd3;
      {outer_dy, outer_dx} = {4'd1, 4'd1};
      {inner_dy, inner_dx} = {4'd1, 4'd1};
    end else begin
      {outer_rows, outer_cols} = {out_height[11:0], out_width[11:0]};
      {inner_rows, inner_cols} = {4'd0, kernel_height, 4'd0, kernel_width};
      {outer_dy, outer_dx}     = {stride_y[3:0], stride_x[3:0]};
      {inner_dy, inner_dx}     = {4'd1, 4'd1};
    end
  end

  // Rows that a step skips, in vectors. origin_y · width takes eleven cycles of shift and add, once per command.
  logic [W-1:0] outer_row_step_q, inner_row_step_q, origin_q, addend_q;
  logic [10:0]  digits_q;
  logic [3:0]   prepared_q;
  function automatic logic [W-1:0] rows(input logic [3:0] count, input logic [15:0] vectors);
    rows = (count[0] ? W'(vectors) : '0) + (count[1] ? W'(vectors) << 1 : '0) +
           (count[2] ? W'(vectors) << 2 : '0) + (count[3] ? W'(vectors) << 3 : '0);
  endfunction
  always_ff @(posedge clk_i) begin
    outer_row_step_q <= rows(outer_dy, width);
    inner_row_step_q <= rows(inner_dy, width);
    if (start_i) begin
      origin_q <= '0;
      addend_q <= W'(width);
      digits_q <= origin_y[10:0];
    end else if (state_q == Prepare) begin
      // The eleventh digit is the sign.
      if (digits_q[0]) origin_q <= prepared_q == 4'd10 ? origin_q - addend_q : origin_q + addend_q;
      addend_q <= addend_q << 1;
      digits_q <= digits_q >> 1;
    end
  end

  // The present place. `_outer` is what the inner loops begin with.
  logic [11:0]        ov_q, oh_q, iv_q, ih_q;
  logic [15:0]        input_block_q, block_q;
  logic signed [15:0] y_q, x_q, y_outer_q, x_outer_q;
  logic [W-1:0]       row_q, row_outer_q, plane_q, residual_q, residual_block_q;
  logic [PW:0]        pixel_q;
  logic               block_ended_q;

  wire ih_end     = ih_q == inner_cols - 12'd1;
  wire iv_end     = iv_q == inner_rows - 12'd1;
  wire inner_end  = ih_end & iv_end;
  wire oh_end     = oh_q == outer_cols - 12'd1;
  wire ov_end     = ov_q == outer_rows - 12'd1;
  wire outer_end  = inner_end & oh_end & ov_end;
  wire inputs_end = ~convolve | (input_block_q == input_blocks - 16'd1);
  wire block_end  = outer_end & inputs_end;
  wire all_end    = block_end & (block_q == blocks - 16'd1);

  wire inner_first = (ih_q == '0) & (iv_q == '0);
  wire outer_first = (oh_q == '0) & (ov_q == '0);
  wire last_tile   = oh_end & ov_end & inputs_end;
  wire outputs_begin = convolve ? inner_first & last_tile : inner_first & outer_first;  // those of a block
  // Channel words are due with the outputs, in bfloat16 and float32 with the first tile.
  wire begins      = floats ? inner_first & outer_first & (input_block_q == '0) : outputs_begin;
  wire blocked     = (convolve & inner_first & ~tile_ready_i) | (begins & ~channels_ready_i) |
                     (depthwise & begins & ~taps_ready_i);
  wire step        = (state_q == Run) & ~blocked & ~abort_i;
  // The window of a DEPTHWISE is complete from the third row and column on.
  wire window      = (iv_q >= 12'd2) & (ih_q >= 12'd2) & ~(stride_y[1] & iv_q[0]) & ~(stride_x[1] & ih_q[0]);
  wire yields      = convolve ? last_tile : depthwise ? window : inner_end;
  wire first_output  = convolve ? outputs_begin : depthwise ? window & (iv_q == 12'd2) & (ih_q == 12'd2)
                                                     : inner_end & outer_first;
  wire then_second   = yields & (with_residual | two_vectors);
  wire outside       = y_q[15] | (y_q >= signed'(height)) | x_q[15] | (x_q >= signed'(width));

  assign busy_o           = state_q != Idle;
  assign tile_take_o      = step & convolve & inner_first;
  assign taps_take_o      = step & depthwise & begins;
  assign channels_claim_o = step & begins;

  wire [W-1:0] next_plane = convolve & inputs_end ? input_address : plane_q + input_plane;

  always_ff @(posedge clk_i) begin
    if (state_q == Prepare) begin
      {ov_q, oh_q, iv_q, ih_q} <= '0;
      {input_block_q, block_q} <= '0;
      y_q              <= origin_y;
      x_q              <= origin_x;
      y_outer_q        <= origin_y;
      x_outer_q        <= origin_x;
      plane_q          <= input_address;
      row_q            <= input_address + origin_q;
      row_outer_q      <= input_address + origin_q;
      residual_q       <= residual_address;
      residual_block_q <= residual_address;
      pixel_q          <= '0;
    end else if (step) begin
      pixel_q <= inner_end ? '0 : pixel_q + (PW + 1)'(!pixel_q[PW]);
      ih_q    <= ih_end ? '0 : ih_q + 12'd1;
      x_q     <= ih_end ? x_outer_q : x_q + 16'(inner_dx);
      if (ih_end) begin
        iv_q  <= iv_end ? '0 : iv_q + 12'd1;
        y_q   <= iv_end ? y_outer_q : y_q + 16'(inner_dy);
        row_q <= iv_end ? row_outer_q : row_q + inner_row_step_q;
      end
      if (inner_end) begin
        oh_q      <= oh_end ? '0 : oh_q + 12'd1;
        x_outer_q <= oh_end ? origin_x : x_outer_q + 16'(outer_dx);
        x_q       <= oh_end ? origin_x : x_outer_q + 16'(outer_dx);
        if (oh_end) begin
          ov_q        <= ov_end ? '0 : ov_q + 12'd1;
          y_outer_q   <= ov_end ? origin_y : y_outer_q + 16'(outer_dy);
          y_q         <= ov_end ? origin_y : y_outer_q + 16'(outer_dy);
          row_outer_q <= ov_end ? next_plane + origin_q : row_outer_q + outer_row_step_q;
          row_q       <= ov_end ? next_plane + origin_q : row_outer_q + outer_row_step_q;
        end
      end
      if (outer_end) begin
        plane_q       <= next_plane;
        input_block_q <= inputs_end ? '0 : input_block_q + 16'd1;
        if (inputs_end) block_q <= block_q + 16'd1;
      end
    end else if (state_q == Second) begin
      residual_q <= block_ended_q ? residual_block_q + residual_plane : residual_q + W'(1);
      if (block_ended_q) residual_block_q <= residual_block_q + residual_plane;
    end
  end

  wire unused = &{1'b0, command_i, out_height[15:12], out_width[15:12], stride_y[7:4], stride_x[7:4]};
  logic ended_q;  // the last place was read
  always_ff @(posedge clk_i) begin
    if (step) begin
      block_ended_q <= block_end;
      ended_q       <= all_end;
    end
    prepared_q <= state_q == Prepare ? prepared_q + 4'd1 : '0;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= Idle;
    end else begin
      unique case (state_q)
        Idle:    if (start_i) state_q <= Prepare;
        Prepare: if (prepared_q == 4'd11) state_q <= Run;
        Run: begin
          if (abort_i) state_q <= Idle;
          else if (step) state_q <= then_second ? Second : all_end ? Idle : Run;
        end
        // An output under way always gets its residual.
        Second: state_q <= ended_q || abort_i ? Idle : Run;
        default: state_q <= Idle;
      endcase
    end
  end

  logic [W-1:0] address_q;
  logic         used_q;  // an address that must lie in the memory
  logic         no_pixel_q;
  assign address_o     = address_q[AW-1:0];
  assign bad_address_o = (used_q & (address_q[W-1:AW] != '0)) | no_pixel_q;
  always_ff @(posedge clk_i) begin
    address_q      <= state_q == Second ? residual_q : row_q + W'(x_q);
    outside_o      <= outside;
    first_o        <= inner_first;
    last_o         <= inner_end;
    begin_sum_o    <= outer_first & (input_block_q == '0);
    first_output_o <= first_output;
    pixel_o        <= pixel_q[PW-1:0];
    column_o       <= ih_q;
    block_end_o    <= block_end;
    if (!rst_ni) begin
      valid_o    <= 1'b0;
      output_o   <= 1'b0;
      residual_o <= 1'b0;
      used_q     <= 1'b0;
      no_pixel_q <= 1'b0;
    end else begin
      valid_o    <= step;
      output_o   <= step & yields;
      residual_o <= (state_q == Second) & ~two_vectors;
      used_q     <= ((state_q == Second) & ~two_vectors) | (step & ~outside);
      no_pixel_q <= step & convolve & pixel_q[PW];
    end
  end
endmodule
