// Cuts the combinational path of ready. A stream passes at one word per cycle with a latency of one. A word
// that arrives in the cycle in which the consumer stops is stored.
module skid_buffer #(
  parameter int WIDTH = 8
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic [WIDTH-1:0] in_data_i,
  input  logic             in_valid_i,
  output logic             in_ready_o,
  output logic [WIDTH-1:0] out_data_o,
  output logic             out_valid_o,
  input  logic             out_ready_i
);
  logic [WIDTH-1:0] out_q, skid_q;
  logic             out_valid_q, skid_valid_q;

  assign in_ready_o  = !skid_valid_q;
  assign out_data_o  = out_q;
  assign out_valid_o = out_valid_q;

  logic out_free;
  assign out_free = out_ready_i || !out_valid_q;

  always_ff @(posedge clk_i) begin
    if (out_free) out_q <= skid_valid_q ? skid_q : in_data_i;
    if (in_ready_o) skid_q <= in_data_i;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      out_valid_q  <= 1'b0;
      skid_valid_q <= 1'b0;
    end else if (out_free) begin
      out_valid_q  <= in_valid_i || skid_valid_q;
      skid_valid_q <= 1'b0;
    end else if (in_valid_i) begin
      skid_valid_q <= 1'b1;
    end
  end

  stream_check #(.WIDTH(WIDTH)) check_out (
    .clk_i, .rst_ni, .data_i(out_data_o), .valid_i(out_valid_o), .ready_i(out_ready_i)
  );
endmodule
