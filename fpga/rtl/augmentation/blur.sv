// Blurs some images. The convolution runs for every image while the unchanged pixels wait beside it; a
// multiplexer takes one of the two. So the kernel never changes while an image is inside.
module blur #(
  parameter ROM = "blur.hex"  // nine coefficients; from fpga/gen
) (
  input  logic       clk_i,
  input  logic       rst_ni,
  input  logic       blur_i,  // for the image at the output; next_o asks for the next image's
  output logic       next_o,
  input  logic [7:0] in_data_i,
  input  logic       in_valid_i,
  output logic       in_ready_o,
  output logic [7:0] out_data_o,
  output logic       out_valid_o,
  input  logic       out_ready_i
);
  // A gain of 1 is 2^10: kBlurShift of fpga/model/augmentation.h.
  localparam logic [3:0] SHIFT = 4'd10;
  localparam logic [9:0] LAST  = 10'd783;
  // The convolution's first result comes a row and a pixel and 15 cycles after its first pixel.
  localparam int DEPTH = 64;

  logic [11:0]  rom[9];
  logic [107:0] coefficients;
  initial $readmemh(ROM, rom);
  for (genvar i = 0; i < 9; i++) begin : gen_coefficient
    assign coefficients[12*i+:12] = rom[i];
  end

  logic       convolution_ready, untouched_ready, take;
  logic [7:0] blurred, untouched;
  logic       blurred_valid, untouched_valid;
  logic [7:0] unused_level;
  assign in_ready_o = convolution_ready && untouched_ready;
  assign take       = in_valid_i && in_ready_o;

  logic give;
  assign out_valid_o = blurred_valid && untouched_valid;
  assign out_data_o  = blur_i ? blurred : untouched;
  assign give        = out_valid_o && out_ready_i;

  convolution u_convolution (
    .clk_i, .rst_ni, .cfg_pad_i(1'b1), .cfg_shift_i(SHIFT), .cfg_kernel_i(coefficients),
    .in_data_i, .in_valid_i(take), .in_ready_o(convolution_ready),
    .out_data_o(blurred), .out_valid_o(blurred_valid), .out_ready_i(give)
  );
  fifo #(.WIDTH(8), .DEPTH(DEPTH)) u_untouched (
    .clk_i, .rst_ni, .in_data_i, .in_valid_i(take), .in_ready_o(untouched_ready),
    .out_data_o(untouched), .out_valid_o(untouched_valid), .out_ready_i(give), .level_o(unused_level)
  );

  logic [9:0] pixel_q;
  assign next_o = give && pixel_q == LAST;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) pixel_q <= '0;
    else if (give) pixel_q <= (pixel_q == LAST) ? '0 : pixel_q + 1'b1;
  end

  stream_check #(.WIDTH(8)) check_out (
    .clk_i, .rst_ni, .data_i(out_data_o), .valid_i(out_valid_o), .ready_i(out_ready_i)
  );
endmodule
