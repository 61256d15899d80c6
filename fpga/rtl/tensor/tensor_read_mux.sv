// Two readers share one AXI4 read port. Bursts of reader 0 come first. Data returns in the order of the requests, so a list of
// who asked is enough to tell whose it is. Neither reader asks for more than it has room for, so data never waits.
module tensor_read_mux #(
  parameter int OUTSTANDING = 16  // bursts; a power of two
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic [1:0]   arvalid_i,
  output logic [1:0]   arready_o,
  input  logic [127:0] araddr_i,
  input  logic [15:0]  arlen_i,
  output logic [1:0]   rvalid_o,
  input  logic [1:0]   rready_i,

  output logic [63:0]  axi_araddr_o,
  output logic [7:0]   axi_arlen_o,
  output logic         axi_arvalid_o,
  input  logic         axi_arready_i,
  input  logic         axi_rlast_i,
  input  logic         axi_rvalid_i,
  output logic         axi_rready_o
);
  localparam int PW = $clog2(OUTSTANDING);
  logic [OUTSTANDING-1:0] owners_q;
  logic [PW:0]            asked_q, answered_q;
  logic                   held_q, holder_q;  // a request that was offered stays offered

  wire full   = asked_q == {~answered_q[PW], answered_q[PW-1:0]};
  wire chosen = held_q ? holder_q : ~arvalid_i[0];
  wire owner  = owners_q[answered_q[PW-1:0]];
  wire asked  = axi_arvalid_o & axi_arready_i;
  wire ended  = axi_rvalid_i & axi_rready_o & axi_rlast_i;

  assign axi_arvalid_o = arvalid_i[chosen] & ~full;
  assign axi_araddr_o  = chosen ? araddr_i[127:64] : araddr_i[63:0];
  assign axi_arlen_o   = chosen ? arlen_i[15:8] : arlen_i[7:0];
  assign arready_o     = {asked & chosen, asked & ~chosen};
  assign rvalid_o      = {axi_rvalid_i & owner, axi_rvalid_i & ~owner};
  assign axi_rready_o  = rready_i[owner];

  always_ff @(posedge clk_i) begin
    if (asked) owners_q[asked_q[PW-1:0]] <= chosen;
    holder_q <= chosen;
    if (!rst_ni) begin
      asked_q    <= '0;
      answered_q <= '0;
      held_q     <= 1'b0;
    end else begin
      if (asked) asked_q <= asked_q + 1'b1;
      if (ended) answered_q <= answered_q + 1'b1;
      held_q <= axi_arvalid_o & ~axi_arready_i;
    end
  end

  stream_check #(.WIDTH(72)) check_ask (
    .clk_i, .rst_ni, .data_i({axi_araddr_o, axi_arlen_o}), .valid_i(axi_arvalid_o), .ready_i(axi_arready_i)
  );
endmodule
