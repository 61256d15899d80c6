// Augmentation and convolution of 28×28 images as a kernel: 98 words in per frame; out, per view, the image
// (98 words) or its four channels (392 words padded, 338 not). Parameters: coefficients and shift as
// fpga/rtl/augmentation/augment_convolve.sv orders them.
// Configuration: bits 0 blur, 1 rotate, 2 crop, 3 convolve, 4 pad, 6:5 views per image - 1, 7 set the random
// generators to the seed (30 bits) at the beginning of the run.
module augment_convolve_kernel #(
  parameter int MAX_BURST = 64,
  parameter ROTATION_ROM = "rotation.hex",
  parameter CROP_ROM     = "crop.hex",
  parameter BLUR_ROM     = "blur.hex"
) (
`include "kernel_ports.svh"
);
`include "kernel_body.svh"

  localparam int CHANNELS = 4;

  logic [15:0] view_words;
  always_comb begin
    if (!configuration[3]) view_words = 16'd98;
    else if (configuration[4]) view_words = 16'd392;
    else view_words = 16'd338;
    unique case (configuration[6:5])
      2'd0: out_words = view_words;
      2'd1: out_words = view_words << 1;
      2'd2: out_words = view_words + (view_words << 1);
      2'd3: out_words = view_words << 2;
    endcase
  end
  assign in_words = 16'd98;
  wire unused = &{1'b0, configuration[31:8], seed[31:30]};

  augment_convolve #(
    .CHANNELS(CHANNELS), .ROTATION_ROM(ROTATION_ROM), .CROP_ROM(CROP_ROM), .BLUR_ROM(BLUR_ROM)
  ) u_block (
    .clk_i(ap_clk), .rst_ni(ap_rst_n),
    .cfg_blur_i(configuration[0]), .cfg_rotate_i(configuration[1]), .cfg_crop_i(configuration[2]),
    .cfg_convolve_i(configuration[3]), .cfg_pad_i(configuration[4]), .cfg_repeat_i(configuration[6:5]),
    .cfg_seed_i(seed[29:0]), .seed_load_i(start & configuration[7]),
    .load_data_i(load_data), .load_valid_i(load_valid), .load_ready_o(load_ready),
    .in_data_i(in_data), .in_valid_i(in_valid), .in_ready_o(in_ready),
    .out_data_o(out_data), .out_valid_o(out_valid), .out_ready_i(out_ready)
  );
endmodule
