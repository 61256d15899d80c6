// Counts 0 … COUNT - 1 in the cycles after a start, once for each start.
module modulation_count #(
  parameter int COUNT = 16  // 2 … 32
) (
  input  logic       clk_i,
  input  logic       rst_ni,
  input  logic       start_i,  // the first cycle comes next; not earlier than COUNT cycles after the one before
  output logic       valid_o,
  output logic       first_o,
  output logic [4:0] count_o
);
  logic       valid_q, first_q;
  logic [4:0] count_q;
  assign valid_o = valid_q;
  assign first_o = first_q;
  assign count_o = count_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q <= 1'b0;
      first_q <= 1'b0;
    end else begin
      if (start_i) valid_q <= 1'b1;
      else if (count_q == 5'(COUNT - 1)) valid_q <= 1'b0;
      first_q <= start_i;
    end
    count_q <= start_i ? '0 : count_q + 1'b1;
  end
endmodule
