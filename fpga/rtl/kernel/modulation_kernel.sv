// Modulation recognition as a kernel: 32 words of 8 int8 samples in (I, then Q), 5 words with 10 int32 logits out
// per burst; program and weights as fpga/model/modulation_image.h orders them. No configuration.
module modulation_kernel #(
  parameter int MAX_BURST = 64,
  parameter int FAMILY    = 2,    // 1: DSP48E1, 2: DSP48E2
  parameter int COLUMNS   = 12,   // 8 takes 64 DSPs less and about half as many cycles more; other parameters
  parameter int ROWS      = 2048
) (
`include "kernel_ports.svh"
);
`include "kernel_body.svh"

  assign in_words  = 16'd32;
  assign out_words = 16'd5;
  wire unused = &{1'b0, configuration, seed, start};

  modulation #(.FAMILY(FAMILY), .COLUMNS(COLUMNS), .ROWS(ROWS)) u_block (
    .clk_i(ap_clk), .rst_ni(ap_rst_n),
    .load_data_i(load_data), .load_valid_i(load_valid), .load_ready_o(load_ready),
    .in_data_i(in_data), .in_valid_i(in_valid), .in_ready_o(in_ready),
    .out_data_o(out_data), .out_valid_o(out_valid), .out_ready_i(out_ready)
  );
endmodule
