// Sums of tiles, one per output pixel and lane. The first tile of a block begins the sums, the last one sends them on instead
// of storing them. Two visits of a pixel are at least three cycles apart. In int16 two lanes hold one sum of 64 bits, in int32 three
// of four lanes one of 96: more than any command can fill. In bfloat16 and float32 other adders use the memory.
module tensor_accumulator #(
  parameter int LANES  = 16,
  parameter int PIXELS = 1024,
  parameter int SW     = 19,
  parameter int INT16  = 0,
  parameter int INT32  = 0,
  parameter int IW     = 32 + $clog2(LANES / 2),  // sums of a tile in int16
  parameter int WW     = 64 + $clog2(LANES / 4),  // and in int32
  parameter int PW     = $clog2(PIXELS)
) (
  input  logic                clk_i,
  input  logic [PW-1:0]       read_pixel_i,  // one cycle before the sums
  input  logic                valid_i,
  input  logic                first_i,
  input  logic                last_i,
  input  logic [PW-1:0]       pixel_i,
  input  logic [SW*LANES-1:0] sums_i,
  input  logic                int16_i,       // these instead
  input  logic [IW*LANES/2-1:0] int16_sums_i,
  input  logic                int32_i,
  input  logic [WW*LANES/4-1:0] int32_sums_i,
  // One cycle behind the sums of a last tile.
  output logic [32*LANES-1:0] sums_o,

  // The sums of the lower half of the lanes, stored and read instead.
  input  logic                float_i,
  input  logic [PW-1:0]       float_read_pixel_i,
  output logic [16*LANES-1:0] float_stored_o,  // one cycle later
  input  logic                float_write_i,
  input  logic [PW-1:0]       float_pixel_i,
  input  logic [16*LANES-1:0] float_sums_i
);
  logic [32*LANES-1:0] memory[PIXELS];
  logic [32*LANES-1:0] stored_q, total_q;
  logic                write_q;
  logic [PW-1:0]       pixel_q;

  assign sums_o         = total_q;
  assign float_stored_o = stored_q[16*LANES-1:0];

  wire [PW-1:0]       read_pixel  = float_i ? float_read_pixel_i : read_pixel_i;
  wire [PW-1:0]       write_pixel = float_i ? float_pixel_i : pixel_q;
  wire [32*LANES-1:0] write_data  = {total_q[32*LANES-1:16*LANES], float_i ? float_sums_i : total_q[16*LANES-1:0]};

  always_ff @(posedge clk_i) begin
    stored_q <= memory[read_pixel];
    if (float_i ? float_write_i : write_q) memory[write_pixel] <= write_data;
    write_q <= valid_i & ~last_i;
    pixel_q <= pixel_i;
  end

  logic [32*LANES-1:0] added;
  always_comb begin
    for (int l = 0; l < LANES; l++) added[32*l+:32] = 32'(signed'(sums_i[SW*l+:SW]));
    if (INT16 != 0 && int16_i) begin
      for (int c = 0; c < LANES / 2; c++) added[64*c+:64] = 64'(signed'(int16_sums_i[IW*c+:IW]));
    end
    if (INT32 != 0 && int32_i) begin
      for (int c = 0; c < LANES / 4; c++) added[128*c+:128] = 128'(signed'(int32_sums_i[WW*c+:WW]));
    end
  end

  // A bit above each lane stops its carry, or lets it pass to the next lane.
  localparam int SPAN = INT32 != 0 ? 4 : INT16 != 0 ? 2 : 1;
  for (genvar i = 0; i < LANES; i += SPAN) begin : gen_sum
    logic [33*SPAN-1:0] old, next, total;
    for (genvar l = 0; l < SPAN; l++) begin : gen_lane
      wire passes = (l % 2 == 0 && INT16 != 0 && int16_i) || (INT32 != 0 && int32_i);
      wire unused = total[33*l+32];
      assign old[33*l+:33]  = {passes, first_i ? 32'd0 : stored_q[32*(i+l)+:32]};
      assign next[33*l+:33] = {1'b0, added[32*(i+l)+:32]};
      always_ff @(posedge clk_i) total_q[32*(i+l)+:32] <= total[33*l+:32];
    end
    assign total = old + next;
  end
  wire unused = &{1'b0, int16_i, int16_sums_i, int32_i, int32_sums_i};
endmodule
