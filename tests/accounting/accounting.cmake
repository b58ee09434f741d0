# SPDX-License-Identifier: GPL-2.0-or-later
# The model's sums against the kernel's own: schedstat, /proc/stat, cpu.stat.
add_executable(accounting_load ${CMAKE_CURRENT_LIST_DIR}/load.c)
target_link_libraries(accounting_load PRIVATE Threads::Threads)
add_executable(accounting_compare ${CMAKE_CURRENT_LIST_DIR}/compare.c ${CMAKE_CURRENT_LIST_DIR}/wake_clock.c)
target_link_libraries(accounting_compare PRIVATE hg_analysis)
foreach(case mixed naps quota nginx)
  hg_test(accounting_${case} LABELS root slow TIMEOUT 120
          COMMAND ${CMAKE_CURRENT_LIST_DIR}/accounting.sh $<TARGET_FILE:hourglass> $<TARGET_FILE:accounting_load>
                  $<TARGET_FILE:accounting_compare> ${case})
  set_tests_properties(accounting_${case} PROPERTIES RUN_SERIAL TRUE)
endforeach()
