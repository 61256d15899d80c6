// The beacon network as a kernel: a word with three inputs in and a word with two outputs out per sample; 16 words of
// weights as fpga/model/beacon_image.h orders them. Configuration: bit 0 reads the weights: a word in is the number
// of a weight word, the word out is that one.
module beacon_kernel #(
  parameter int MAX_BURST = 64,
  parameter int FAMILY    = 2,    // 1: DSP48E1, 2: DSP48E2
  parameter TANSIG_ROM    = "tansig.hex"
) (
`include "kernel_ports.svh"
);
`include "kernel_body.svh"

  assign in_words  = 16'd1;
  assign out_words = 16'd1;
  wire unused = &{1'b0, configuration[31:1], seed, start};

  beacon #(.FAMILY(FAMILY), .ROM(TANSIG_ROM)) u_block (
    .clk_i(ap_clk), .rst_ni(ap_rst_n), .cfg_read_i(configuration[0]),
    .load_data_i(load_data), .load_valid_i(load_valid), .load_ready_o(load_ready),
    .in_data_i(in_data), .in_valid_i(in_valid), .in_ready_o(in_ready),
    .out_data_o(out_data), .out_valid_o(out_valid), .out_ready_i(out_ready)
  );
endmodule
