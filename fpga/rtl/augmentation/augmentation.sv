// Views → blur → rotation → resized crop, one pixel per cycle, each choice by its own shift register.
//
// The choices for an image are those of fpga/model's AugmentationSequence: the n-th view that passes a stage
// takes that stage's n-th value. seed_load_i, with no image inside, begins the sequence of cfg_seed_i.
module augmentation #(
  parameter ROTATION_ROM = "rotation.hex",
  parameter CROP_ROM     = "crop.hex",
  parameter BLUR_ROM     = "blur.hex"
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        cfg_blur_i,
  input  logic        cfg_rotate_i,
  input  logic        cfg_crop_i,
  input  logic [1:0]  cfg_repeat_i,  // views per image, less one
  input  logic [29:0] cfg_seed_i,    // 8…0 blur, 19…9 rotation, 29…20 crop
  input  logic        seed_load_i,
  input  logic [7:0]  in_data_i,
  input  logic        in_valid_i,
  output logic        in_ready_o,
  output logic [7:0]  out_data_o,
  output logic        out_valid_o,
  input  logic        out_ready_i
);
  localparam logic [1:0] BLUR_VALUE = 2'd3;  // one of four

  logic [1:0] blur_value, rotation, crop;
  logic       blur_next, rotation_next, crop_next;
  lfsr_xnor #(.BITS(9), .TAP(5)) u_blur_choice (
    .clk_i, .rst_ni, .seed_i(cfg_seed_i[8:0]), .load_i(seed_load_i), .step_i(blur_next), .value_o(blur_value)
  );
  lfsr_xnor #(.BITS(11), .TAP(9)) u_rotation_choice (
    .clk_i, .rst_ni, .seed_i(cfg_seed_i[19:9]), .load_i(seed_load_i), .step_i(rotation_next), .value_o(rotation)
  );
  lfsr_xnor #(.BITS(10), .TAP(7)) u_crop_choice (
    .clk_i, .rst_ni, .seed_i(cfg_seed_i[29:20]), .load_i(seed_load_i), .step_i(crop_next), .value_o(crop)
  );

  logic [7:0] view_data, blurred_data, rotated_data;
  logic       view_valid, blurred_valid, rotated_valid;
  logic       view_ready, blurred_ready, rotated_ready;

  repeat_views u_views (
    .clk_i, .rst_ni, .cfg_repeat_i, .in_data_i, .in_valid_i, .in_ready_o,
    .out_data_o(view_data), .out_valid_o(view_valid), .out_ready_i(view_ready)
  );
  blur #(.ROM(BLUR_ROM)) u_blur (
    .clk_i, .rst_ni, .blur_i(cfg_blur_i && blur_value == BLUR_VALUE), .next_o(blur_next),
    .in_data_i(view_data), .in_valid_i(view_valid), .in_ready_o(view_ready),
    .out_data_o(blurred_data), .out_valid_o(blurred_valid), .out_ready_i(blurred_ready)
  );
  rotate #(.ROM(ROTATION_ROM)) u_rotate (
    .clk_i, .rst_ni, .cfg_on_i(cfg_rotate_i), .variant_i(rotation), .next_o(rotation_next),
    .in_data_i(blurred_data), .in_valid_i(blurred_valid), .in_ready_o(blurred_ready),
    .out_data_o(rotated_data), .out_valid_o(rotated_valid), .out_ready_i(rotated_ready)
  );
  resized_crop #(.ROM(CROP_ROM)) u_crop (
    .clk_i, .rst_ni, .cfg_on_i(cfg_crop_i), .variant_i(crop), .next_o(crop_next),
    .in_data_i(rotated_data), .in_valid_i(rotated_valid), .in_ready_o(rotated_ready),
    .out_data_o, .out_valid_o, .out_ready_i
  );
endmodule
