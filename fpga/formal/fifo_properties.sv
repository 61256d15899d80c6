// The FIFO neither loses, doubles, changes nor reorders words. The solver follows one word of its choice
// through the FIFO. Numbers are modulo 16, and at most five words are inside.
module fifo_properties #(
  parameter int WIDTH = 1  // one bit stands for all: no bit of a word depends on another
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic [WIDTH-1:0] in_data_i,
  input logic             in_valid_i,
  input logic             out_ready_i
);
  localparam int DEPTH = 4;

  logic [WIDTH-1:0] out_data;
  logic             in_ready, out_valid;
  logic [3:0]       level;
  fifo #(.WIDTH(WIDTH), .DEPTH(DEPTH)) dut (
    .clk_i, .rst_ni, .in_data_i, .in_valid_i, .in_ready_o(in_ready),
    .out_data_o(out_data), .out_valid_o(out_valid), .out_ready_i, .level_o(level)
  );

  (* observe = "dut.write_q" *) wire [2:0] write_pointer;
  (* observe = "dut.read_q" *) wire [2:0] read_pointer;
  (* observe = "dut.memory[0]" *) wire [WIDTH-1:0] word0;
  (* observe = "dut.memory[1]" *) wire [WIDTH-1:0] word1;
  (* observe = "dut.memory[2]" *) wire [WIDTH-1:0] word2;
  (* observe = "dut.memory[3]" *) wire [WIDTH-1:0] word3;

  (* anyconst *) wire [3:0] followed;

  logic put, get;
  assign put = in_valid_i && in_ready;
  assign get = out_valid && out_ready_i;

  logic [3:0]       puts_q, gets_q;
  logic             waits_q;
  logic [WIDTH-1:0] word_q, stored;
  always_comb begin
    unique case (followed[1:0])
      2'd0: stored = word0;
      2'd1: stored = word1;
      2'd2: stored = word2;
      2'd3: stored = word3;
    endcase
  end

  logic [3:0] held;
  assign held = puts_q - gets_q;

  // The first cycle is a reset; later ones may come at any time.
  logic reset_seen_q = 1'b0;
  always_comb begin
    if (!reset_seen_q) assume (!rst_ni);
  end

  logic was_full_q = 1'b0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      reset_seen_q <= 1'b1;
      puts_q       <= '0;
      gets_q       <= '0;
      waits_q     <= 1'b0;
    end else if (reset_seen_q) begin
      puts_q <= puts_q + 4'(put);
      gets_q <= gets_q + 4'(get);
      if (put && puts_q == followed) begin
        waits_q <= 1'b1;
        word_q   <= in_data_i;
      end
      if (get && gets_q == followed) begin
        assert (waits_q && out_data == word_q);
        waits_q <= 1'b0;
      end

      assert (level == held && held <= 4'(DEPTH + 1));
      assert (write_pointer == puts_q[2:0]);
      assert (read_pointer == gets_q[2:0] + 3'(out_valid));
      assert (in_ready == (held - 4'(out_valid) != 4'(DEPTH)));
      assert (waits_q == (followed - gets_q < held));
      if (waits_q) assert (word_q == ((out_valid && gets_q == followed) ? out_data : stored));

      was_full_q <= was_full_q || held == 4'(DEPTH + 1);
      cover (was_full_q && held == 4'd0);
      cover (put && get && held == 4'd3);
    end
  end
endmodule
