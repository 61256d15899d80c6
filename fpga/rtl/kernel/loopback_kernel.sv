// Returns its input: each word plus the last loaded parameter word (0 after reset). For the masters' bench,
// for measuring XRT's overhead and for `tributary doctor`. Configuration: bits 15:0 words per frame.
module loopback_kernel #(
  parameter int MAX_BURST = 64
) (
`include "kernel_ports.svh"
);
`include "kernel_body.svh"

  logic [63:0] addend_q, data_q;
  logic        valid_q;

  assign in_words  = configuration[15:0];
  assign out_words = configuration[15:0];
  wire unused = &{1'b0, configuration[31:16], seed, start};

  assign load_ready = 1'b1;
  assign in_ready   = ~valid_q | out_ready;
  assign out_data   = data_q;
  assign out_valid  = valid_q;

  always_ff @(posedge ap_clk) begin
    if (in_valid && in_ready) data_q <= in_data + addend_q;
  end

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      addend_q <= '0;
      valid_q  <= 1'b0;
    end else begin
      if (load_valid) addend_q <= load_data;
      if (in_ready) valid_q <= in_valid;
    end
  end
endmodule
