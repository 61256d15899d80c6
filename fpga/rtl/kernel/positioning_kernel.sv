// The positioning network as a kernel: 128 words of 8 int8 features in, 3 words with 5 int32 results out per
// frame; parameters as fpga/model/positioning_image.h orders them. No configuration.
module positioning_kernel #(
  parameter int MAX_BURST = 64,
  parameter int FAMILY    = 2,    // 1: DSP48E1, 2: DSP48E2
  parameter int PARALLEL1 = 512   // inputs of layer 1 at once; 256 halves DSPs and block RAM and doubles the interval
) (
`include "kernel_ports.svh"
);
`include "kernel_body.svh"

  assign in_words  = 16'd128;
  assign out_words = 16'd3;
  wire unused = &{1'b0, configuration, seed, start};

  positioning #(.FAMILY(FAMILY), .PARALLEL1(PARALLEL1)) u_block (
    .clk_i(ap_clk), .rst_ni(ap_rst_n),
    .load_data_i(load_data), .load_valid_i(load_valid), .load_ready_o(load_ready),
    .in_data_i(in_data), .in_valid_i(in_valid), .in_ready_o(in_ready),
    .out_data_o(out_data), .out_valid_o(out_valid), .out_ready_i(out_ready)
  );
endmodule
