# SPDX-License-Identifier: GPL-2.0-or-later
# End-to-end tests of `hourglass record`: the real binary, as root, on this kernel.
foreach(program trace_facts many_threads identity)
  add_executable(${program} ${CMAKE_CURRENT_LIST_DIR}/${program}.c)
endforeach()
target_link_libraries(trace_facts PRIVATE hg_trace)
target_link_libraries(many_threads PRIVATE Threads::Threads)
target_link_libraries(identity PRIVATE Threads::Threads)

file(GLOB scripts CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/test_*.sh)
foreach(script ${scripts})
  get_filename_component(name ${script} NAME_WE)
  string(REGEX REPLACE "^test_" "" name ${name})
  hg_test(record_${name} LABELS root TIMEOUT 240
          COMMAND ${CMAKE_COMMAND} -E env HOURGLASS=$<TARGET_FILE:hourglass>
                  TRACE_FACTS=$<TARGET_FILE:trace_facts> MANY_THREADS=$<TARGET_FILE:many_threads>
                  IDENTITY=$<TARGET_FILE:identity> HG_SERVER=$<TARGET_FILE:hg-server>
                  HG_CLIENT=$<TARGET_FILE:hg-client>
                  bash ${script})
endforeach()
