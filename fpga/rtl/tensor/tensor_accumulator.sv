// Sums of tiles, one per output pixel and lane. The first tile of a block begins the sums, the last one sends them on instead
// of storing them. Two visits of a pixel are at least three cycles apart. In int16 two lanes hold one sum of 64 bits, more than any
// command can fill. In bfloat16 other adders use the memory.
module tensor_accumulator #(
  parameter int LANES  = 16,
  parameter int PIXELS = 1024,
  parameter int SW     = 19,
  parameter int INT16  = 0,
  parameter int IW     = 32 + $clog2(LANES / 2),  // sums of a tile in int16
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
    write_q <= valid_i & ~last_i;
    pixel_q <= pixel_i;
  end

  for (genvar i = 0; i < LANES; i += 2) begin : gen_pair
    wire [31:0] old_low  = first_i ? 32'd0 : stored_q[32*i+:32];
    wire [31:0] old_high = first_i ? 32'd0 : stored_q[32*(i+1)+:32];
    wire [31:0] low      = 32'(signed'(sums_i[SW*i+:SW]));
    wire [31:0] high     = 32'(signed'(sums_i[SW*(i+1)+:SW]));
    if (INT16 != 0) begin : gen_int16
      // A bit between the lanes stops the carry of the lower one, or lets it pass.
      wire [63:0] both = int16_i ? 64'(signed'(int16_sums_i[IW*i/2+:IW])) : {high, low};
      wire [64:0] total = {old_high, int16_i, old_low} + {both[63:32], 1'b0, both[31:0]};
      wire        unused_between = total[32];
      always_ff @(posedge clk_i) total_q[32*i+:64] <= {total[64:33], total[31:0]};
    end else begin : gen_int8
      always_ff @(posedge clk_i) total_q[32*i+:64] <= {old_high + high, old_low + low};
    end
  end
  wire unused = &{1'b0, int16_i, int16_sums_i};
endmodule
