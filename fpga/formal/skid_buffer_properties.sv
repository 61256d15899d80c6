// The buffer neither loses, doubles, changes nor reorders words: it is compared with the two words that it
// may hold.
module skid_buffer_properties #(
  parameter int WIDTH = 4
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic [WIDTH-1:0] in_data_i,
  input logic             in_valid_i,
  input logic             out_ready_i
);

  logic [WIDTH-1:0] out_data;
  logic             in_ready, out_valid;
  skid_buffer #(.WIDTH(WIDTH)) dut (
    .clk_i, .rst_ni, .in_data_i, .in_valid_i, .in_ready_o(in_ready),
    .out_data_o(out_data), .out_valid_o(out_valid), .out_ready_i
  );

  (* observe = "dut.out_q" *) wire [WIDTH-1:0] out_word;
  (* observe = "dut.skid_q" *) wire [WIDTH-1:0] skid_word;
  (* observe = "dut.skid_valid_q" *) wire skid_valid;

  // The expected contents, the older word first.
  logic [1:0]       count_q;
  logic [WIDTH-1:0] first_q, second_q;
  logic             put, get;
  assign put = in_valid_i && in_ready;
  assign get = out_valid && out_ready_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      count_q <= '0;
    end else begin
      count_q <= count_q + 2'(put) - 2'(get);
      if (get) begin
        first_q  <= (count_q == 2'd2) ? second_q : in_data_i;
        second_q <= in_data_i;
      end else if (put) begin
        if (count_q == 2'd0) first_q <= in_data_i;
        else second_q <= in_data_i;
      end
    end
  end

  // The first cycle is a reset; later ones may come at any time.
  logic reset_seen_q = 1'b0;
  always_comb begin
    if (!reset_seen_q) assume (!rst_ni);
  end

  logic was_full_q = 1'b0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) reset_seen_q <= 1'b1;
    if (reset_seen_q && rst_ni) begin
      assert (count_q == 2'(out_valid) + 2'(skid_valid));
      assert (in_ready == !skid_valid);
      assert (!skid_valid || out_valid);
      if (count_q != 2'd0) assert (out_data == first_q && out_word == first_q);
      if (count_q == 2'd2) assert (skid_word == second_q);
      was_full_q <= was_full_q || count_q == 2'd2;
      cover (was_full_q && count_q == 2'd0);
      cover (put && get);
    end
  end
endmodule
