// Images in, augmented images or their convolution out, in 64-bit words: the body of the kernel augment_convolve.
//
// in: 28×28 bytes, 98 words per image. load: 3·CHANNELS + 1 words, any number of times while no image is inside: for each
// channel the kernel's three rows, coefficients in lanes 0…2 of 16 bits (the low 12 count), then the shift (0…15).
// out, per view (cfg_repeat_i + 1 per image): cfg_convolve_i low: the augmented image, 98 words. High: the CHANNELS
// results of each pixel side by side, pixel after pixel and view after view: 28×28 pixels with cfg_pad_i, else 26×26. Both
// fill whole words, but for 26×26 pixels of one channel. CHANNELS divides 8. All cfg_ change only while no image is inside.
module augment_convolve #(
  parameter int CHANNELS = 4,
  parameter ROTATION_ROM = "rotation.hex",
  parameter CROP_ROM     = "crop.hex",
  parameter BLUR_ROM     = "blur.hex"
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        cfg_blur_i,
  input  logic        cfg_rotate_i,
  input  logic        cfg_crop_i,
  input  logic        cfg_convolve_i,
  input  logic        cfg_pad_i,
  input  logic [1:0]  cfg_repeat_i,
  input  logic [29:0] cfg_seed_i,
  input  logic        seed_load_i,
  input  logic [63:0] load_data_i,
  input  logic        load_valid_i,
  output logic        load_ready_o,
  input  logic [63:0] in_data_i,
  input  logic        in_valid_i,
  output logic        in_ready_o,
  output logic [63:0] out_data_o,
  output logic        out_valid_o,
  input  logic        out_ready_i
);
  localparam int LOADS = 3 * CHANNELS + 1;
  localparam int LW    = $clog2(LOADS);
  if (CHANNELS != 1 && CHANNELS != 2 && CHANNELS != 4) $error("CHANNELS must be 1, 2 or 4");

  // Parameters.
  logic [CHANNELS*108-1:0] kernel_q;
  logic [3:0]              shift_q;
  logic [LW-1:0]           load_q;
  logic                    unused_load;
  assign load_ready_o = 1'b1;
  assign unused_load  = &{load_data_i[63:44], load_data_i[31:28], load_data_i[15:12]};
  always_ff @(posedge clk_i) begin
    if (!rst_ni) load_q <= '0;
    else if (load_valid_i) load_q <= (load_q == LW'(LOADS - 1)) ? '0 : load_q + 1'b1;
  end
  always_ff @(posedge clk_i) begin
    for (int i = 0; i < LOADS - 1; i++) begin
      if (load_valid_i && load_q == LW'(i)) begin
        kernel_q[36*i+:36] <= {load_data_i[43:32], load_data_i[27:16], load_data_i[11:0]};
      end
    end
    if (load_valid_i) shift_q <= load_data_i[3:0];  // the last word stays
  end

  // Words to pixels to the augmented image.
  logic [7:0] pixel, augmented;
  logic       pixel_valid, pixel_ready, augmented_valid, augmented_ready;
  stream_unpack #(.WIDTH(8), .COUNT(8)) u_unpack (
    .clk_i, .rst_ni, .in_data_i, .in_valid_i, .in_ready_o,
    .out_data_o(pixel), .out_valid_o(pixel_valid), .out_ready_i(pixel_ready)
  );
  augmentation #(.ROTATION_ROM(ROTATION_ROM), .CROP_ROM(CROP_ROM), .BLUR_ROM(BLUR_ROM)) u_augmentation (
    .clk_i, .rst_ni, .cfg_blur_i, .cfg_rotate_i, .cfg_crop_i, .cfg_repeat_i, .cfg_seed_i, .seed_load_i,
    .in_data_i(pixel), .in_valid_i(pixel_valid), .in_ready_o(pixel_ready),
    .out_data_o(augmented), .out_valid_o(augmented_valid), .out_ready_i(augmented_ready)
  );

  // To the convolution, or around it.
  logic [CHANNELS*8-1:0] channels;
  logic                  channels_valid, channels_ready, convolution_ready, image_ready;
  assign augmented_ready = cfg_convolve_i ? convolution_ready : image_ready;
  convolution #(.CHANNELS(CHANNELS)) u_convolution (
    .clk_i, .rst_ni, .cfg_pad_i, .cfg_shift_i(shift_q), .cfg_kernel_i(kernel_q),
    .in_data_i(augmented), .in_valid_i(augmented_valid && cfg_convolve_i), .in_ready_o(convolution_ready),
    .out_data_o(channels), .out_valid_o(channels_valid), .out_ready_i(channels_ready)
  );

  // Pixels to words.
  logic [63:0] image_word, channels_word;
  logic        image_valid, channels_word_valid, word_ready;
  stream_pack #(.WIDTH(8), .COUNT(8)) u_pack_image (
    .clk_i, .rst_ni, .in_data_i(augmented), .in_last_i(1'b0),
    .in_valid_i(augmented_valid && !cfg_convolve_i), .in_ready_o(image_ready),
    .out_data_o(image_word), .out_valid_o(image_valid), .out_ready_i(word_ready && !cfg_convolve_i)
  );
  stream_pack #(.WIDTH(8 * CHANNELS), .COUNT(8 / CHANNELS)) u_pack_channels (
    .clk_i, .rst_ni, .in_data_i(channels), .in_last_i(1'b0),
    .in_valid_i(channels_valid), .in_ready_o(channels_ready),
    .out_data_o(channels_word), .out_valid_o(channels_word_valid), .out_ready_i(word_ready && cfg_convolve_i)
  );

  skid_buffer #(.WIDTH(64)) u_out (
    .clk_i, .rst_ni, .in_data_i(cfg_convolve_i ? channels_word : image_word),
    .in_valid_i(cfg_convolve_i ? channels_word_valid : image_valid), .in_ready_o(word_ready),
    .out_data_o, .out_valid_o, .out_ready_i
  );
endmodule
