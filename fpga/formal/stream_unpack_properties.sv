// Every word comes out as its elements, low bits first, each once. The next word follows without a gap.
module stream_unpack_properties #(
  parameter int WIDTH = 2
) (
  input logic               clk_i,
  input logic               rst_ni,
  input logic [4*WIDTH-1:0] in_data_i,
  input logic               in_valid_i,
  input logic               out_ready_i
);
  localparam int COUNT = 4;

  logic             in_ready, out_valid;
  logic [WIDTH-1:0] out_data;
  stream_unpack #(.WIDTH(WIDTH), .COUNT(COUNT)) dut (
    .clk_i, .rst_ni, .in_data_i, .in_valid_i, .in_ready_o(in_ready),
    .out_data_o(out_data), .out_valid_o(out_valid), .out_ready_i
  );

  (* observe = "dut.word_q" *) wire [COUNT*WIDTH-1:0] word;
  (* observe = "dut.left_q" *) wire [1:0] left;

  // The present word, and the number of the offered element.
  logic [COUNT*WIDTH-1:0] word_q;
  logic [1:0]             element_q;
  logic                   busy_q;
  logic                   put, get;
  assign put = in_valid_i && in_ready;
  assign get = out_valid && out_ready_i;

  // The first cycle is a reset; later ones may come at any time.
  logic reset_seen_q = 1'b0;
  always_comb begin
    if (!reset_seen_q) assume (!rst_ni);
  end

  logic [2:0] back_to_back_q = 3'd0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      reset_seen_q <= 1'b1;
      busy_q       <= 1'b0;
    end else if (reset_seen_q) begin
      if (get) element_q <= element_q + 2'd1;
      if (get && element_q == 2'd3) busy_q <= 1'b0;
      if (put) begin
        assert (!busy_q || (get && element_q == 2'd3));
        busy_q    <= 1'b1;
        word_q    <= in_data_i;
        element_q <= '0;
      end

      assert (out_valid == busy_q);
      if (busy_q) begin
        assert (left == 2'd3 - element_q);
        assert (word == word_q >> (element_q * WIDTH));
        assert (out_data == word_q[element_q*WIDTH+:WIDTH]);
      end
      if (!busy_q || (get && element_q == 2'd3)) assert (in_ready);

      if (put && get && back_to_back_q != 3'd7) back_to_back_q <= back_to_back_q + 3'd1;
      cover (back_to_back_q == 3'd2 && !out_valid);
    end
  end
endmodule
