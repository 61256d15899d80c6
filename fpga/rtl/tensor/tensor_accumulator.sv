// Sums of tiles, one per output pixel and lane. The first tile of a block begins the sums, the last one sends them on instead
// of storing them. Two visits of a pixel are at least three cycles apart. In bfloat16 other adders use the memory.
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
  output logic [32*LANES-1:0] sums_o,

  // The sums of the lower half of the lanes, stored and read instead.
  input  logic                bfloat_i,
  input  logic [PW-1:0]       bfloat_read_pixel_i,
  output logic [16*LANES-1:0] bfloat_stored_o,  // one cycle later
  input  logic                bfloat_write_i,
  input  logic [PW-1:0]       bfloat_pixel_i,
  input  logic [16*LANES-1:0] bfloat_sums_i
);
  logic [32*LANES-1:0] memory[PIXELS];
  logic [32*LANES-1:0] stored_q, total_q;
  logic                write_q;
  logic [PW-1:0]       pixel_q;

  assign sums_o          = total_q;
  assign bfloat_stored_o = stored_q[16*LANES-1:0];

  wire [PW-1:0]       read_pixel  = bfloat_i ? bfloat_read_pixel_i : read_pixel_i;
  wire [PW-1:0]       write_pixel = bfloat_i ? bfloat_pixel_i : pixel_q;
  wire [32*LANES-1:0] write_data  = {total_q[32*LANES-1:16*LANES], bfloat_i ? bfloat_sums_i : total_q[16*LANES-1:0]};

  always_ff @(posedge clk_i) begin
    stored_q <= memory[read_pixel];
    if (bfloat_i ? bfloat_write_i : write_q) memory[write_pixel] <= write_data;
    for (int i = 0; i < LANES; i++) begin
      total_q[32*i+:32] <= (first_i ? 32'd0 : stored_q[32*i+:32]) + 32'(signed'(sums_i[SW*i+:SW]));
    end
    write_q <= valid_i & ~last_i;
    pixel_q <= pixel_i;
  end
endmodule
