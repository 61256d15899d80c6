// Reads commands from the program and has them executed one after the other. The words between two commands belong to the
// loader. At the end, and after any fault, the rest of the program is read and ignored, so that the next run finds nothing of it.
module tensor_control (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         start_i,          // a run begins
  input  logic [31:0]  program_words_i,
  output logic         done_o,           // one cycle
  output logic [2:0]   status_o,         // of the run that ended last
  output logic [23:0]  command_index_o,

  input  logic [63:0]  data_i,
  input  logic         valid_i,
  output logic         ready_o,
  output logic         last_o,           // no word of the program is left
  output logic         loader_valid_o,
  input  logic         loader_ready_i,
  output logic         keep_start_o,     // KEEP begins
  output logic         keep_valid_o,     // the present word is kept

  output logic [511:0] command_o,
  input  logic [2:0]   check_i,          // of the command, one cycle behind it

  output logic         compute_start_o,
  output logic         transfer_start_o,
  output logic         abort_o,
  input  logic         computing_i,      // loader or addresses
  input  logic         transferring_i,
  input  logic         issued_i,         // an output is on its way
  input  logic         written_i,        // it is in the memory
  input  logic         bad_address_i,
  input  logic         bad_weight_i,
  input  logic         ended_i
);
  typedef enum logic [3:0] {Idle, Fetch, Check, Decide, Start, Compute, Transfer, Keep, Settle, Flush, Done} state_e;
  state_e state_q;

  logic [511:0] command_q;
  logic [2:0]   word_q;
  logic [31:0]  left_q, keep_left_q;
  logic [23:0]  index_q;
  logic [2:0]   status_q;
  logic [7:0]   under_way_q;   // outputs

  wire transfers  = command_q[7:0] == tensor_pkg::LOAD || command_q[7:0] == tensor_pkg::STORE;
  wire keeps      = command_q[7:0] == tensor_pkg::KEEP;
  wire kept       = command_q[19];  // the loader's words come from elsewhere
  wire kept_all   = keep_left_q == '0;
  wire over       = left_q == '0;
  wire took       = valid_i & ready_o;
  wire faulty     = status_q != tensor_pkg::OK;
  wire quiet      = ~computing_i & ~issued_i & (under_way_q == '0);

  assign last_o           = over;
  assign loader_valid_o   = valid_i & (state_q == Compute) & ~kept;
  assign keep_start_o     = (state_q == Start) & keeps;
  assign keep_valid_o     = took & (state_q == Keep);
  assign ready_o          = (state_q == Fetch) | (state_q == Flush) | ((state_q == Compute) & loader_ready_i & ~kept) |
                            ((state_q == Keep) & ~kept_all);
  assign command_o        = command_q;
  assign compute_start_o  = (state_q == Start) & ~transfers & ~keeps;
  assign transfer_start_o = (state_q == Start) & transfers;
  assign abort_o          = (state_q == Compute) & faulty;
  assign done_o           = state_q == Done;
  assign status_o         = status_q;
  assign command_index_o  = index_q;

  always_ff @(posedge clk_i) begin
    if (took && state_q == Fetch) begin
      command_q <= {data_i, command_q[511:64]};
      word_q    <= word_q + 3'd1;
    end else if (state_q != Fetch) begin
      word_q <= '0;
    end
    if (start_i) left_q <= program_words_i;
    else if (took) left_q <= left_q - 32'd1;
    if (state_q == Start) keep_left_q <= command_q[127:96];
    else if (keep_valid_o) keep_left_q <= keep_left_q - 32'd1;
    if (start_i) index_q <= '0;
    else if (state_q == Settle && !faulty) index_q <= index_q + 24'd1;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q     <= Idle;
      status_q    <= tensor_pkg::OK;
      under_way_q <= '0;
    end else begin
      under_way_q <= under_way_q + 8'(issued_i) - 8'(written_i);
      unique case (state_q)
        Idle:  if (start_i) state_q <= Fetch;
        Fetch: begin
          if (over) state_q <= Flush;
          else if (took && word_q == 3'd7) state_q <= Check;
        end
        Check: state_q <= Decide;
        Decide: begin
          if (check_i != tensor_pkg::OK || command_q[7:0] == tensor_pkg::END) state_q <= Flush;
          else state_q <= Start;
        end
        Start:    state_q <= transfers ? Transfer : keeps ? Keep : Compute;
        Keep:     if (kept_all || over) state_q <= Settle;
        Compute:  if (quiet) state_q <= Settle;
        Transfer: if (!transferring_i) state_q <= Settle;
        // A fault of the last output shows here.
        Settle:  state_q <= faulty ? Flush : Fetch;
        Flush:   if (over) state_q <= Done;
        Done:    state_q <= Idle;
        default: state_q <= Idle;
      endcase

      // The first fault counts.
      if (start_i) status_q <= tensor_pkg::OK;
      else if (!faulty) begin
        if ((state_q == Fetch || (state_q == Keep && !kept_all)) && over) status_q <= tensor_pkg::PROGRAM_ENDS;
        else if (state_q == Decide) status_q <= check_i;
        else if (state_q == Compute && bad_weight_i) status_q <= tensor_pkg::BAD_WEIGHT;
        else if (state_q == Compute && ended_i) status_q <= tensor_pkg::PROGRAM_ENDS;
        else if (state_q == Compute && bad_address_i) status_q <= tensor_pkg::BAD_ADDRESS;
      end
    end
  end
endmodule
