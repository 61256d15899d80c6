// Every word holds the elements since the word before it, in order, the first in the low bits, and zeros
// where a frame ended early. No element is lost or doubled.
module stream_pack_properties #(
  parameter int WIDTH = 2
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic [WIDTH-1:0] in_data_i,
  input logic             in_last_i,
  input logic             in_valid_i,
  input logic             out_ready_i
);
  localparam int COUNT = 4;

  logic                   in_ready, out_valid;
  logic [COUNT*WIDTH-1:0] out_data;
  stream_pack #(.WIDTH(WIDTH), .COUNT(COUNT)) dut (
    .clk_i, .rst_ni, .in_data_i, .in_last_i, .in_valid_i, .in_ready_o(in_ready),
    .out_data_o(out_data), .out_valid_o(out_valid), .out_ready_i
  );

  (* observe = "dut.word_q" *) wire [COUNT*WIDTH-1:0] word;
  (* observe = "dut.next_q" *) wire [1:0] next;

  // The open word and its number of elements; the offered word.
  logic [COUNT*WIDTH-1:0] open_q, offer_q, filled;
  logic [1:0]             count_q;
  logic                   offered_q;
  logic                   put, closes;
  assign put    = in_valid_i && in_ready;
  assign filled = ((count_q == '0) ? '0 : open_q) | (8'(in_data_i) << (count_q * WIDTH));
  assign closes = in_last_i || count_q == 2'd3;

  // The first cycle is a reset; later ones may come at any time.
  logic reset_seen_q = 1'b0;
  always_comb begin
    if (!reset_seen_q) assume (!rst_ni);
  end

  logic short_q = 1'b0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      reset_seen_q <= 1'b1;
      count_q      <= '0;
      offered_q    <= 1'b0;
    end else if (reset_seen_q) begin
      if (put) begin
        open_q  <= filled;
        count_q <= closes ? '0 : count_q + 2'd1;
      end
      if (put && closes) begin
        assert (!offered_q || out_ready_i);
        offered_q <= 1'b1;
        offer_q   <= filled;
      end else if (out_ready_i) begin
        offered_q <= 1'b0;
      end

      assert (out_valid == offered_q);
      assert (next == count_q);
      if (offered_q) assert (out_data == offer_q && count_q == '0);
      if (count_q != '0) assert (word == open_q && open_q >> (count_q * WIDTH) == '0);
      if (out_ready_i) assert (in_ready);

      short_q <= short_q || (put && in_last_i && count_q == 2'd1);
      cover (short_q && out_valid && out_data == 8'he4);
    end
  end
endmodule
