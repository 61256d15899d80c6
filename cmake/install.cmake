# How deploy/CMakeLists.txt says what is installed. A component is the Debian package of its name (deploy/debian).
include(GNUInstallDirs)

# tributary_install_text(COMPONENT FILE DESTINATION folder): a text that names installed files by their paths on Debian, and
# models by their path in this tree. DESTINATION is a path on Debian too: with another prefix than /usr, /usr stands for the
# prefix and /etc for PREFIX/etc, in the path and in the text. What is in /etc already is left alone.
function(tributary_install_text component file)
  cmake_parse_arguments(ARG "" "DESTINATION" "" ${ARGN})
  cmake_path(ABSOLUTE_PATH file)
  install(CODE "
    set(file \"${file}\")
    set(destination \"${ARG_DESTINATION}\")
    include(\"${PROJECT_SOURCE_DIR}/cmake/install_text.cmake\")" COMPONENT ${component})
endfunction()

# tributary_install_output(COMPONENT FILE DESTINATION folder COMMAND target argument...): a FILE with what a program prints.
function(tributary_install_output component name)
  cmake_parse_arguments(ARG "" "DESTINATION" "COMMAND" ${ARGN})
  set(file ${CMAKE_CURRENT_BINARY_DIR}/${name})
  list(GET ARG_COMMAND 0 program)
  add_custom_command(OUTPUT ${file} COMMAND ${ARG_COMMAND} > ${file} DEPENDS ${program} VERBATIM)
  install(FILES ${file} DESTINATION ${ARG_DESTINATION} COMPONENT ${component})
  set_property(GLOBAL APPEND PROPERTY tributary_installed ${file})
endfunction()

# tributary_install_program(COMPONENT TARGET SECTION): a program, and the manual's pages of it and of each of its commands.
function(tributary_install_program component program section)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${program}.man)
  set(page ${folder}/${program}.${section})
  set(script ${PROJECT_SOURCE_DIR}/deploy/man_pages.py)
  set(changelog ${PROJECT_SOURCE_DIR}/deploy/debian/changelog)
  add_custom_command(OUTPUT ${page}
    COMMAND /usr/bin/python3 ${script} --section ${section} --changelog ${changelog} --out ${folder}
            -- ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:${program}>
    DEPENDS ${program} ${script} ${changelog} VERBATIM)
  install(TARGETS ${program} COMPONENT ${component})
  install(DIRECTORY ${folder}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section} COMPONENT ${component})
  set_property(GLOBAL APPEND PROPERTY tributary_installed ${program} ${page})
endfunction()
