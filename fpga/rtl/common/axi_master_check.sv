// Assertions on the master's side of an AXI4 port with 64-bit words: bursts of at most MAX_BURST words that begin at a
// word and stay within 4 KiB; exactly the words of a burst follow its address, the last one marked; the answer of the
// last write is awaited. Synthesis removes it; simulation checks it.
module axi_master_check #(
  parameter int MAX_BURST = 64
) (
  input logic        clk_i,
  input logic        rst_ni,
  input logic [63:0] awaddr_i,
  input logic [7:0]  awlen_i,
  input logic        awvalid_i,
  input logic        awready_i,
  input logic        wlast_i,
  input logic        wvalid_i,
  input logic        wready_i,
  input logic [63:0] araddr_i,
  input logic [7:0]  arlen_i,
  input logic        arvalid_i
);
  logic [8:0] owed_q = '0;  // words of the burst that follow

  wire asked = awvalid_i & awready_i;
  wire sent  = wvalid_i & wready_i;
  wire unused = &{1'b0, awaddr_i[63:12], araddr_i[63:12]};

  always_ff @(posedge clk_i) begin
    if (!rst_ni) owed_q <= '0;
    else if (asked) owed_q <= {1'b0, awlen_i} + 9'd1;
    else if (sent) owed_q <= owed_q - 9'd1;

    if (rst_ni) begin
      if (awvalid_i) begin
        write_burst_is_short : assert ({1'b0, awlen_i} < 9'(MAX_BURST));
        write_burst_stays_in_its_page : assert ({1'b0, awaddr_i[11:3]} + {2'b00, awlen_i} < 10'd512);
        write_burst_begins_at_a_word : assert (awaddr_i[2:0] == 3'b000);
        one_write_burst_at_a_time : assert (owed_q == '0);
      end
      if (wvalid_i) begin
        word_follows_its_address : assert (owed_q != '0);
        last_word_is_marked : assert (wlast_i == (owed_q == 9'd1));
      end
      if (arvalid_i) begin
        read_burst_is_short : assert ({1'b0, arlen_i} < 9'(MAX_BURST));
        read_burst_stays_in_its_page : assert ({1'b0, araddr_i[11:3]} + {2'b00, arlen_i} < 10'd512);
        read_burst_begins_at_a_word : assert (araddr_i[2:0] == 3'b000);
      end
    end
  end
endmodule
