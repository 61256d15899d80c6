# Verilated RTL, its benches, proofs and synthesis checks. Needs deploy/packages-fpga.txt.
find_package(verilator REQUIRED HINTS $ENV{VERILATOR_ROOT} /usr/share/verilator)
find_program(VERILATOR verilator REQUIRED)
find_program(YOSYS yosys REQUIRED)
find_program(YOSYS_SMTBMC yosys-smtbmc REQUIRED)
find_program(Z3 z3 REQUIRED)

# What every kernel has beside its block: the shell and its masters. For yosys, which looks for no modules by itself, with
# the headers and the common blocks that they use. Relative to fpga/rtl.
file(GLOB TRIBUTARY_SHELL RELATIVE ${PROJECT_SOURCE_DIR}/fpga/rtl CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/fpga/rtl/kernel/axi_*.sv ${PROJECT_SOURCE_DIR}/fpga/rtl/kernel/kernel_*.sv)
set(TRIBUTARY_SHELL_FOR_YOSYS -I${PROJECT_SOURCE_DIR}/fpga/rtl/kernel ${TRIBUTARY_SHELL} common/skid_buffer.sv
  common/axi_lite_check.sv common/axi_master_check.sv)

set(TRIBUTARY_VERILATOR_FLAGS "" CACHE STRING "Further flags for Verilator, e.g. -Wno-fatal for planted bugs")

# tributary_verilated(NAME TOP module SOURCES file... [PREFIX class] [PARAMETERS P=V...] [INCLUDES folder...])
#
# The static library NAME: the Verilated model PREFIX (V<TOP>), position-independent, one thread. SOURCES are
# relative to fpga/rtl unless absolute. Verilator looks for other modules in INCLUDES (relative to fpga/rtl),
# but only SOURCES cause a rebuild.
function(tributary_verilated name)
  cmake_parse_arguments(ARG "" "TOP;PREFIX" "SOURCES;PARAMETERS;INCLUDES" ${ARGN})
  if(NOT ARG_PREFIX)
    set(ARG_PREFIX V${ARG_TOP})
  endif()
  set(sources)
  foreach(file ${ARG_SOURCES})
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/fpga/rtl)
    list(APPEND sources ${file})
  endforeach()
  list(TRANSFORM ARG_INCLUDES PREPEND -y\;${PROJECT_SOURCE_DIR}/fpga/rtl/)
  list(TRANSFORM ARG_PARAMETERS PREPEND -G)
  add_library(${name} STATIC)
  verilate(${name} TOP_MODULE ${ARG_TOP} PREFIX ${ARG_PREFIX} SOURCES ${sources}
    VERILATOR_ARGS --threads 1 --assert --x-initial unique --unroll-count 1024 -Wall ${TRIBUTARY_VERILATOR_FLAGS} ${ARG_INCLUDES} ${ARG_PARAMETERS})
  # Generated code: no warnings of ours, and optimised in every preset. Its files are small, and share large headers.
  target_compile_options(${name} PRIVATE -w -O2 -fPIC)
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
  tributary_share_verilator(${name})
endfunction()

# tributary_share_verilator(TARGET): Verilator's own files are compiled once for all models instead of once for each.
function(tributary_share_verilator target)
  get_target_property(sources ${target} SOURCES)
  set(shared ${sources})
  list(FILTER shared INCLUDE REGEX "/verilated[a-z_]*\\.cpp$")
  list(REMOVE_ITEM sources ${shared})
  set_target_properties(${target} PROPERTIES SOURCES "${sources}")
  if(NOT TARGET tributary_verilator)
    add_library(tributary_verilator STATIC ${shared})
    target_include_directories(tributary_verilator SYSTEM PUBLIC ${VERILATOR_ROOT}/include)
    target_compile_definitions(tributary_verilator PRIVATE VM_COVERAGE=0 VM_SC=0 VM_TRACE=0)
    target_compile_options(tributary_verilator PRIVATE -w -O2 -fPIC)
    set_target_properties(tributary_verilator PROPERTIES UNITY_BUILD ON)
  endif()
  target_link_libraries(${target} PUBLIC tributary_verilator)
endfunction()

# tributary_rtl_bench(NAME VERILATED lib... [DEPENDS lib...] [SOURCES file...] [LABELS label...])
#
# The GoogleTest binary NAME_tb of all *_tb.cc in this folder (or SOURCES); label rtl, or those given.
function(tributary_rtl_bench name)
  cmake_parse_arguments(ARG "" "" "VERILATED;DEPENDS;SOURCES;LABELS" ${ARGN})
  if(NOT ARG_SOURCES)
    file(GLOB ARG_SOURCES CONFIGURE_DEPENDS *_tb.cc)
  endif()
  if(NOT ARG_LABELS)
    set(ARG_LABELS rtl)
  endif()
  tributary_test(${name}_tb SOURCES ${ARG_SOURCES} DEPENDS ${ARG_VERILATED} tributary_tb ${ARG_DEPENDS}
    LABELS ${ARG_LABELS})
  # Some benches run two million cycles.
  target_compile_options(${name}_tb PRIVATE -O2)
endfunction()

# tributary_formal(NAME TOP module SOURCES file... [DEPTH cycles] [INDUCTION cycles] [PARAMETERS P=V...])
#
# A ctest (label formal): proves every assertion of TOP by induction over INDUCTION cycles (default 3), with a
# base case of DEPTH (default 20), within which every cover point must be reached. SOURCES are relative to
# fpga/rtl unless absolute (properties: fpga/formal).
function(tributary_formal name)
  cmake_parse_arguments(ARG "" "TOP;DEPTH;INDUCTION" "SOURCES;PARAMETERS" ${ARGN})
  if(NOT ARG_INDUCTION)
    set(ARG_INDUCTION 3)
  endif()
  if(NOT ARG_DEPTH)
    set(ARG_DEPTH 20)
  endif()
  set(sources)
  foreach(file ${ARG_SOURCES})
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/fpga/rtl)
    list(APPEND sources ${file})
  endforeach()
  add_test(NAME formal_${name} COMMAND ${PROJECT_SOURCE_DIR}/fpga/formal/prove.sh ${ARG_TOP} ${ARG_DEPTH} ${ARG_INDUCTION}
    "${ARG_PARAMETERS}" ${sources})
  set_tests_properties(formal_${name} PROPERTIES LABELS formal TIMEOUT 300)
endfunction()

# tributary_synth(NAME TOP module SOURCES file|-Ifolder... [FAMILY xc7|xcup] [PARAMETERS P=V...] [EXPECT KIND<=N|KIND=N ...]
#                 [LABELS label...] [MANUAL target])
#
# A ctest (label synth, or those given), or with MANUAL a step of that target, for designs that take minutes: yosys
# synth_xilinx, with the counts of EXPECT asserted. A bound more than a tenth above its count fails too. KIND is LUT, FF, DSP,
# BRAM (in units of 36 Kb) or LUTRAM; numeric PARAMETERS only. ROM files are found in TRIBUTARY_ROM_DIR by their default
# names. Netlist and statistics are left in build/*/fpga/synth.
function(tributary_synth name)
  cmake_parse_arguments(ARG "" "TOP;FAMILY;MANUAL" "SOURCES;PARAMETERS;EXPECT;LABELS" ${ARGN})
  if(NOT ARG_FAMILY)
    set(ARG_FAMILY xc7)
  endif()
  if(NOT ARG_LABELS)
    set(ARG_LABELS synth)
  endif()
  set(sources)
  foreach(file ${ARG_SOURCES})
    if(NOT file MATCHES "^-I")
      cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/fpga/rtl)
    endif()
    list(APPEND sources ${file})
  endforeach()
  list(REMOVE_DUPLICATES sources)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/fpga/synth ${TRIBUTARY_ROM_DIR})
  set(synthesise ${PROJECT_SOURCE_DIR}/fpga/syn/yosys/synthesise.sh ${PROJECT_BINARY_DIR}/fpga/synth/${name} ${ARG_TOP}
    ${ARG_FAMILY})
  if(ARG_MANUAL)
    add_custom_target(synth_${name} WORKING_DIRECTORY ${TRIBUTARY_ROM_DIR} USES_TERMINAL VERBATIM
      COMMAND ${synthesise} "${ARG_PARAMETERS}" "${ARG_EXPECT}" ${sources})
    tributary_step_of(${ARG_MANUAL} synth_${name})
    return()
  endif()
  add_test(NAME synth_${name} WORKING_DIRECTORY ${TRIBUTARY_ROM_DIR}
    COMMAND ${synthesise} "${ARG_PARAMETERS}" "${ARG_EXPECT}" ${sources})
  set_tests_properties(synth_${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 900 FIXTURES_SETUP netlist_${name})
endfunction()

# tributary_step_of(TARGET STEP): TARGET, made if need be, runs the target STEP.
function(tributary_step_of target step)
  if(NOT TARGET ${target})
    add_custom_target(${target})
  endif()
  add_dependencies(${target} ${step})
endfunction()

# tributary_netlist_bench(NAME TOP module BENCH source... [FILTER tests] [MANUAL target])
#
# A ctest (label synth), or with MANUAL a step of that target: the netlist of tributary_synth(NAME ...), with yosys's models
# of the primitives, under the same bench as the RTL: C++ sources relative to fpga, of which one is the *_tb.cc. The top's
# ports must have kept their names.
function(tributary_netlist_bench name)
  cmake_parse_arguments(ARG "" "FILTER;TOP;MANUAL" "BENCH" ${ARGN})
  set(simulate ${PROJECT_SOURCE_DIR}/fpga/syn/yosys/simulate_netlist.sh ${PROJECT_BINARY_DIR}/fpga/synth/${name}
    ${ARG_TOP})
  if(ARG_MANUAL)
    add_custom_target(netlist_${name} USES_TERMINAL VERBATIM COMMAND ${simulate} "${ARG_FILTER}" ${ARG_BENCH})
    add_dependencies(netlist_${name} synth_${name})
    tributary_step_of(${ARG_MANUAL} netlist_${name})
    return()
  endif()
  add_test(NAME netlist_${name} COMMAND ${simulate} "${ARG_FILTER}" ${ARG_BENCH})
  set_tests_properties(netlist_${name} PROPERTIES LABELS synth TIMEOUT 600 FIXTURES_REQUIRED netlist_${name})
endfunction()
