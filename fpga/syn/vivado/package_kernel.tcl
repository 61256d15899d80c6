# Packages one kernel of fpga/rtl/kernel as KERNEL.xo for Vitis. Not run here: no Vivado (see README.md).
# usage: vivado -mode batch -source package_kernel.tcl -tclargs KERNEL PART FOLDER [PARAMETER=VALUE...]
set parameters [lassign $argv kernel part folder]
if {$folder eq ""} {
  error "usage: package_kernel.tcl KERNEL PART FOLDER \[PARAMETER=VALUE...\]"
}
set rtl [file normalize [file join [file dirname [info script]] ../../rtl]]
file mkdir $folder

create_project -force -part $part $kernel [file join $folder project_$kernel]
foreach block {common kernel positioning fusion beacon modulation tensor convolution augmentation} {
  add_files -quiet [glob -nocomplain [file join $rtl $block *.sv]]
}
add_files -quiet [glob -nocomplain [file join $folder rom *.hex]]
set_property include_dirs [file join $rtl kernel] [current_fileset]
set_property top $kernel [current_fileset]
update_compile_order -fileset sources_1

ipx::package_project -root_dir [file join $folder ip_$kernel] -vendor tributary -library kernel \
  -taxonomy /KernelIP -import_files -set_current true
set core [ipx::current_core]
foreach assignment $parameters {
  lassign [split $assignment =] name value
  set_property value $value [ipx::get_user_parameters $name -of_objects $core]
  set_property value $value [ipx::get_hdl_parameters $name -of_objects $core]
}
set_property name $kernel $core
set_property version 1.0 $core
set_property sdx_kernel true $core
set_property sdx_kernel_type rtl $core
set_property ipi_drc {ignore_freq_hz true} $core
ipx::infer_bus_interface ap_clk xilinx.com:signal:clock_rtl:1.0 $core
ipx::infer_bus_interface ap_rst_n xilinx.com:signal:reset_rtl:1.0 $core
ipx::associate_bus_interfaces -busif m_axi_gmem -clock ap_clk $core
ipx::associate_bus_interfaces -busif s_axi_control -clock ap_clk $core
# A kernel's clock may have any frequency.
foreach parameter {FREQ_HZ FREQ_TOLERANCE_HZ} value {100000000 -1} {
  set bus [ipx::get_bus_interfaces ap_clk -of_objects $core]
  set_property value $value [ipx::add_bus_parameter $parameter $bus]
}

# The registers of fpga/rtl/kernel/kernel_control.sv, as in fpga/model/kernel_interface.h.
set map [ipx::add_memory_map s_axi_control $core]
set_property slave_memory_map_ref s_axi_control [ipx::get_bus_interfaces s_axi_control -of_objects $core]
set block [ipx::add_address_block reg0 $map]
set_property range 4096 $block
set_property width 32 $block
proc add_register {block name offset bits} {
  set register [ipx::add_register $name $block]
  set_property address_offset $offset $register
  set_property size $bits $register
  return $register
}
foreach {name offset} {CTRL 0x00 GIER 0x04 IP_IER 0x08 IP_ISR 0x0c} {
  add_register $block $name $offset 32
}
foreach {name offset} {input 0x10 output 0x1c parameters 0x28} {
  set register [add_register $block $name $offset 64]
  set_property value m_axi_gmem [ipx::add_register_parameter ASSOCIATED_BUSIF $register]
}
foreach {name offset} {frames 0x34 parameter_words 0x3c configuration 0x44 seed 0x4c} {
  add_register $block $name $offset 32
}

ipx::update_checksums $core
ipx::check_integrity -kernel $core
ipx::save_core $core
package_xo -force -xo_path [file join $folder $kernel.xo] -kernel_name $kernel \
  -ip_directory [file join $folder ip_$kernel] -ctrl_protocol ap_ctrl_chain
close_project -delete
