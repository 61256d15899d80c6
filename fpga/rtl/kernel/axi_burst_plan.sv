// The next burst of a transfer: as long as the transfer, the maximum and the distance to the next
// 4 KiB boundary allow (AXI forbids a burst to cross one). Words are 64 bits.
module axi_burst_plan #(
  parameter int MAX_BURST = 64      // beats; 16 for an AXI3 port, at most 256
) (
  input  logic [8:0]  word_in_page_i,   // address bits 11:3
  input  logic [31:0] remaining_i,      // words; not 0
  output logic [8:0]  beats_o           // 1 ... MAX_BURST
);
  if (MAX_BURST < 1 || MAX_BURST > 256) begin : gen_bad_burst
    $error("MAX_BURST must be 1 ... 256");
  end

  wire [9:0] to_boundary = 10'd512 - {1'b0, word_in_page_i};
  wire [9:0] bounded = to_boundary < 10'(MAX_BURST) ? to_boundary : 10'(MAX_BURST);

  always_comb begin
    if (remaining_i < 32'(bounded)) beats_o = remaining_i[8:0];
    else beats_o = bounded[8:0];
  end
endmodule
