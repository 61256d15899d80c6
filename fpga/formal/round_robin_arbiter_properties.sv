// The output word is the chosen source's, exactly that source gets ready, the choice stands until the word is
// taken (stream_check inside the arbiter), and a source that keeps asking sees each other source served at
// most once.
module round_robin_arbiter_properties #(
  parameter int WIDTH = 1  // one bit stands for all: no bit of a word depends on another
) (
  input logic               clk_i,
  input logic               rst_ni,
  input logic [4*WIDTH-1:0] in_data_i,
  input logic [3:0]         in_valid_i,
  input logic               out_ready_i
);

  logic [3:0]       in_ready;
  logic [WIDTH-1:0] out_data;
  logic [1:0]       out_source;
  logic             out_valid;
  round_robin_arbiter #(.SOURCES(4), .WIDTH(WIDTH)) dut (
    .clk_i, .rst_ni, .in_data_i, .in_valid_i, .in_ready_o(in_ready),
    .out_data_o(out_data), .out_source_o(out_source), .out_valid_o(out_valid), .out_ready_i
  );

  (* observe = "dut.last_q" *) wire [1:0] last;
  (* observe = "dut.holding_q" *) wire holding;
  (* observe = "dut.held_q" *) wire [1:0] held;
  (* observe = "dut.check_out.waiting_q" *) wire check_waiting;
  (* observe = "dut.check_out.data_q" *) wire [WIDTH+1:0] check_data;

  // The sources keep the contract of a stream.
  logic [3:0]         waiting_q = 4'd0;
  logic [4*WIDTH-1:0] data_q;
  always_ff @(posedge clk_i) begin
    waiting_q <= rst_ni ? in_valid_i & ~in_ready : 4'd0;
    data_q    <= in_data_i;
  end
  for (genvar i = 0; i < 4; i++) begin : gen_contract
    always_ff @(posedge clk_i) begin
      if (rst_ni && waiting_q[i]) begin
        assume (in_valid_i[i]);
        assume (in_data_i[i*WIDTH+:WIDTH] == data_q[i*WIDTH+:WIDTH]);
      end
    end
  end

  function logic bit_of(input logic [3:0] vector, input logic [1:0] index);
    case (index)
      2'd0: bit_of = vector[0];
      2'd1: bit_of = vector[1];
      2'd2: bit_of = vector[2];
      default: bit_of = vector[3];
    endcase
  endfunction

  // One source, of the solver's choice, and how many others were served since it asks.
  (* anyconst *) wire [1:0] patient;
  logic [2:0] served_q;
  logic       taken;
  assign taken = out_valid && out_ready_i;

  logic [3:0] winner;
  assign winner = {out_source == 2'd3, out_source == 2'd2, out_source == 2'd1, out_source == 2'd0};

  logic [1:0] distance;  // sources before it in the order
  assign distance = patient - last - 2'd1;
  logic [1:0] behind;  // the same, after the present choice
  assign behind = patient - held - 2'd1;

  // The first cycle is a reset; later ones may come at any time.
  logic reset_seen_q = 1'b0;
  always_comb begin
    if (!reset_seen_q) assume (!rst_ni);
  end

  logic [3:0] seen_q = 4'd0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      reset_seen_q <= 1'b1;
      served_q     <= '0;
    end else if (reset_seen_q) begin
      assert (out_valid == |in_valid_i);
      if (out_valid) begin
        assert (bit_of(in_valid_i, out_source));
        assert (out_data == bit_of(in_data_i, out_source));
      end
      assert (in_ready == ({4{taken}} & winner));

      if (!bit_of(in_valid_i, patient) || (taken && out_source == patient)) served_q <= '0;
      else if (taken) served_q <= served_q + 3'd1;
      assert (served_q <= 3'd3);
      // Each turn moves it forward; a present choice may be older than its request.
      if (!bit_of(waiting_q, patient)) assert (served_q == 3'd0);
      else if (!holding) assert (served_q + 3'(distance) <= 3'd3);
      else if (held != patient) assert (served_q + 3'(behind) <= 3'd2);
      if (holding) assert (bit_of(waiting_q, held));
      assert (check_waiting == holding);
      if (holding) assert (check_data == {held, bit_of(data_q, held)});

      if (taken) seen_q <= seen_q | winner;
      cover (&seen_q && served_q == 3'd3);
    end
  end
endmodule
