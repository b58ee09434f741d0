# SPDX-License-Identifier: GPL-2.0-or-later
# Figures, not tests: cmake --build build --target bench_trace.
add_executable(bench_trace EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/bench_trace.c)
target_link_libraries(bench_trace PRIVATE hg_trace)

# As root: build/tests/bench_sampler [NAMESPACES [SOCKETS [TICKS]]].
add_executable(bench_sampler EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/bench_sampler.c)
target_link_libraries(bench_sampler PRIVATE hg_collector)
