// Sums of tiles, one per output pixel and lane. The first tile of a block begins the sums, the last one sends them on instead
// of storing them. Two visits of a pixel are at least three cycles apart.
module tensor_accumulator #(
  parameter int LANES  = 16,
  parameter int PIXELS = 1024,
  parameter int SW     = 19,
  parameter int PW     = $clog2(PIXELS)
) (
  input  logic                clk_i,
  input  logic [PW-1:0]       read_pixel_i,  // one cycle before the sums
  input  logic                valid_i,
  input  logic                first_i,
  input  logic                last_i,
  input  logic [PW-1:0]       pixel_i,
  input  logic [SW*LANES-1:0] sums_i,
  // One cycle behind the sums of a last tile.
  output logic [32*LANES-1:0] sums_o
);
  logic [32*LANES-1:0] memory[PIXELS];
  logic [32*LANES-1:0] stored_q, total_q;
  logic                write_q;
  logic [PW-1:0]       pixel_q;

  assign sums_o = total_q;

  always_ff @(posedge clk_i) begin
    stored_q <= memory[read_pixel_i];
    if (write_q) memory[pixel_q] <= total_q;
    for (int i = 0; i < LANES; i++) begin
      total_q[32*i+:32] <= (first_i ? 32'd0 : stored_q[32*i+:32]) + 32'(signed'(sums_i[SW*i+:SW]));
    end
    write_q <= valid_i & ~last_i;
    pixel_q <= pixel_i;
  end
endmodule
