// 3×3 convolution of a stream of images, one pixel per cycle, CHANNELS kernels in parallel.
//
// Nine DSPs per channel in a chain: tap k enters k cycles after tap 0, so that the sum runs down the cascade and needs no
// adders in LUTs. sum >> cfg_shift_i, rounded down, clipped to 0 … 255. cfg_kernel_i and cfg_shift_i change only
// while no image is inside.
module convolution #(
  parameter int CHANNELS = 1,
  parameter int WIDTH    = 28,
  parameter int HEIGHT   = 28
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  input  logic                       cfg_pad_i,
  input  logic [3:0]                 cfg_shift_i,
  input  logic [CHANNELS*9*12-1:0]   cfg_kernel_i,  // coefficient 9·channel + tap, signed
  input  logic [7:0]                 in_data_i,
  input  logic                       in_valid_i,
  output logic                       in_ready_o,
  output logic [CHANNELS*8-1:0]      out_data_o,
  output logic                       out_valid_o,
  input  logic                       out_ready_i
);
  // 9 · 255 · 2048 < 2^23.
  localparam int SUM = 24;
  // Cycles: eight along the chain, three within a DSP, one to shift, one to clip.
  localparam int STAGES = 8 + 3 + 2;

  logic [71:0] window;
  logic        window_valid, en;
  window_3x3 #(.WIDTH(WIDTH), .HEIGHT(HEIGHT)) u_window (
    .clk_i, .rst_ni, .cfg_pad_i, .in_data_i, .in_valid_i, .in_ready_o,
    .out_data_o(window), .out_valid_o(window_valid), .out_ready_i(en)
  );

  logic [STAGES-1:0] valid_q;
  assign out_valid_o = valid_q[STAGES-1];
  assign en          = out_ready_i || !out_valid_o;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= '0;
    else if (en) valid_q <= {valid_q[STAGES-2:0], window_valid};
  end

  logic [71:0] taps;
  for (genvar k = 0; k < 9; k++) begin : gen_tap
    delay_line #(.WIDTH(8), .DEPTH(k)) u_delay (
      .clk_i, .en_i(en), .data_i(window[8*k+:8]), .data_o(taps[8*k+:8])
    );
  end

  for (genvar c = 0; c < CHANNELS; c++) begin : gen_channel
    logic signed [10*SUM-1:0] sums;
    assign sums[SUM-1:0] = '0;
    for (genvar k = 0; k < 9; k++) begin : gen_mac
      mac_dsp48e1 #(.A_WIDTH(9), .B_WIDTH(12), .P_WIDTH(SUM)) u_mac (
        .clk_i, .en_i(en), .first_i(1'b0),
        .a_i({1'b0, taps[8*k+:8]}), .b_i(cfg_kernel_i[12*(9*c+k)+:12]),
        .c_i(sums[SUM*k+:SUM]), .p_o(sums[SUM*(k+1)+:SUM])
      );
    end

    logic signed [SUM-1:0] shifted_q;
    logic [7:0]            pixel_q;
    always_ff @(posedge clk_i) begin
      if (en) begin
        shifted_q <= $signed(sums[9*SUM+:SUM]) >>> cfg_shift_i;
        if (shifted_q[SUM-1]) pixel_q <= 8'd0;
        else pixel_q <= (|shifted_q[SUM-2:8]) ? 8'd255 : shifted_q[7:0];
      end
    end
    assign out_data_o[8*c+:8] = pixel_q;
  end

  stream_check #(.WIDTH(8 * CHANNELS)) check_out (
    .clk_i, .rst_ni, .data_i(out_data_o), .valid_i(out_valid_o), .ready_i(out_ready_i)
  );
endmodule
