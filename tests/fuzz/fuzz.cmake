# SPDX-License-Identifier: GPL-2.0-or-later
# fuzz_x.c defines LLVMFuzzerTestOneInput. With the fuzz preset it becomes a libFuzzer program; otherwise it is linked
# with a main that runs the files given, so that it keeps compiling and a crashing input can be run under gdb.
# corpus/x/ holds inputs that once failed or that reach deep; they are tests in every preset.

add_custom_target(fuzzers)
file(GLOB fuzz_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/fuzz_*.c)
foreach(source ${fuzz_sources})
  get_filename_component(name ${source} NAME_WE)
  string(REGEX REPLACE "^fuzz_" "" corpus ${name})
  set(corpus ${CMAKE_CURRENT_LIST_DIR}/corpus/${corpus})
  if(HG_FUZZ)
    add_executable(${name} ${source})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    set(work ${CMAKE_CURRENT_BINARY_DIR}/corpus_${name})
    file(MAKE_DIRECTORY ${work})
    set(seeds)
    if(IS_DIRECTORY ${corpus})
      set(seeds ${corpus})
    endif()
    # libFuzzer's own exit code for a crash is 77, which would pass for a skip.
    hg_test(${name} LABELS fuzz TIMEOUT 120
            COMMAND ${name} -error_exitcode=1 -max_total_time=30 -artifact_prefix=${work}_ -timeout=10 -rss_limit_mb=1024 ${work} ${seeds})
  else()
    add_executable(${name} ${source} ${CMAKE_CURRENT_LIST_DIR}/hg_fuzz_main.c)
    if(IS_DIRECTORY ${corpus})
      hg_test(${name} LABELS unit offline COMMAND ${name} ${corpus})
      add_dependencies(offline_tests ${name})
    endif()
  endif()
  target_link_libraries(${name} PRIVATE hg_analysis)
  add_dependencies(fuzzers ${name})
endforeach()
