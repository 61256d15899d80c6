// Data goes to who asked for it, in order, whatever the two readers and the bus do; no request is lost, none is invented, and no
// more are under way than the list has room for. One burst, any of them, stands for all.
module tensor_read_mux_properties (
  input logic         clk_i,
  input logic         rst_ni,
  input logic [1:0]   arvalid_i,
  input logic [127:0] araddr_i,
  input logic [15:0]  arlen_i,
  input logic [1:0]   rready_i,
  input logic         axi_arready_i,
  input logic         axi_rlast_i,
  input logic         axi_rvalid_i,
  input logic         watch_i           // the burst that is asked for in this cycle is the one
);
  localparam int OUTSTANDING = 4;
  logic [1:0]  arready, rvalid;
  logic [63:0] araddr;
  logic [7:0]  arlen;
  logic        arvalid, rready;
  tensor_read_mux #(.OUTSTANDING(OUTSTANDING)) dut (
    .clk_i, .rst_ni, .arvalid_i, .arready_o(arready), .araddr_i, .arlen_i, .rvalid_o(rvalid), .rready_i,
    .axi_araddr_o(araddr), .axi_arlen_o(arlen), .axi_arvalid_o(arvalid), .axi_arready_i, .axi_rlast_i, .axi_rvalid_i,
    .axi_rready_o(rready)
  );

  (* observe = "dut.asked_q" *) wire [2:0] asked;
  (* observe = "dut.answered_q" *) wire [2:0] answered;
  (* observe = "dut.owners_q" *) wire [3:0] owners;

  logic       past_q = 1'b0, offered0_q = 1'b0, offered1_q = 1'b0;
  logic [2:0] under_way_q = '0;   // bursts
  logic       watched_q = 1'b0, owner_q = 1'b0;
  logic [2:0] before_q = '0;      // bursts that are answered before the watched one

  wire ask = arvalid & axi_arready_i;
  wire end_burst = axi_rvalid_i & rready & axi_rlast_i;
  wire [2:0] stored = asked - answered;
  wire [1:0] place = answered[1:0] + before_q[1:0];

  always_ff @(posedge clk_i) begin
    past_q <= 1'b1;
    assume (rst_ni == past_q);
    // The readers keep what they offer; the bus answers what was asked for.
    offered0_q <= rst_ni & arvalid_i[0] & ~arready[0];
    offered1_q <= rst_ni & arvalid_i[1] & ~arready[1];
    if (offered0_q) assume (arvalid_i[0] && $stable(araddr_i[63:0]) && $stable(arlen_i[7:0]));
    if (offered1_q) assume (arvalid_i[1] && $stable(araddr_i[127:64]) && $stable(arlen_i[15:8]));
    if (under_way_q == '0) assume (!axi_rvalid_i);

    if (!rst_ni) begin
      under_way_q <= '0;
      watched_q   <= 1'b0;
      before_q    <= '0;
    end else begin
      under_way_q <= under_way_q + 3'(ask) - 3'(end_burst);
      if (ask && watch_i && !watched_q) begin
        watched_q <= 1'b1;
        owner_q   <= arready[1];
        before_q  <= under_way_q - 3'(end_burst);
      end else if (watched_q && end_burst) begin
        if (before_q == '0) watched_q <= 1'b0;
        else before_q <= before_q - 3'd1;
      end
    end

    if (rst_ni) begin
      assert (stored == under_way_q && under_way_q <= 3'(OUTSTANDING));
      assert (arready == 2'b00 || ask);
      assert (arready != 2'b11 && (arready & ~arvalid_i) == 2'b00);
      if (ask) assert (arready != 2'b00);
      if (arready[0]) assert (araddr == araddr_i[63:0] && arlen == arlen_i[7:0]);
      if (arready[1]) assert (araddr == araddr_i[127:64] && arlen == arlen_i[15:8]);
      assert (rvalid == 2'b00 || axi_rvalid_i);
      if (axi_rvalid_i) assert (rvalid == 2'b01 || rvalid == 2'b10);
      if (watched_q) assert (before_q < under_way_q && owners[place] == owner_q);
      if (watched_q && before_q == '0 && axi_rvalid_i) assert (rvalid == {owner_q, ~owner_q} && rready == rready_i[owner_q]);
    end
    cover (rst_ni && under_way_q == 3'(OUTSTANDING) && arvalid_i == 2'b11);
    cover (rst_ni && watched_q && before_q == '0 && end_burst && owner_q);
  end
endmodule
