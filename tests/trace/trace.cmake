# SPDX-License-Identifier: GPL-2.0-or-later
# info and dump on a trace that a program writes.
add_executable(hg_sample_trace ${CMAKE_CURRENT_LIST_DIR}/sample_trace.c)
target_link_libraries(hg_sample_trace PRIVATE hg_trace)
hg_test(trace_commands LABELS unit
        COMMAND ${CMAKE_CURRENT_LIST_DIR}/commands.sh $<TARGET_FILE:hourglass> $<TARGET_FILE:hg_sample_trace>)
