# SPDX-License-Identifier: GPL-2.0-or-later
# BPF objects: clang with CO-RE, kernel types declared by hand in probes/hg_kernel.h, so that neither
# the build machine's kernel nor its BTF matters; embedded as skeletons by bpftool.

find_program(HG_CLANG NAMES clang clang-19 clang-18 clang-17 clang-16 clang-15 clang-14 REQUIRED)
find_program(HG_BPFTOOL NAMES bpftool PATHS /usr/sbin /sbin REQUIRED)

# hg_bpf_skeletons(TARGET FOLDER): each FOLDER/x.bpf.c becomes x.skel.h for TARGET.
function(hg_bpf_skeletons target folder)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.bpf.c)
  file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.h)
  set(out ${CMAKE_BINARY_DIR}/skeletons)
  file(MAKE_DIRECTORY ${out})
  set(skeletons)
  foreach(source ${sources})
    get_filename_component(name ${source} NAME)
    string(REGEX REPLACE "\\.bpf\\.c$" "" name ${name})
    add_custom_command(
      OUTPUT ${out}/${name}.bpf.o
      COMMAND ${HG_CLANG} -g -O2 -std=gnu17 -ffreestanding -target bpf -mcpu=v3 -D__TARGET_ARCH_x86
              -ffile-prefix-map=${CMAKE_SOURCE_DIR}/= -ffile-prefix-map=${CMAKE_BINARY_DIR}=.
              -Wall -Wextra -Wno-unused-parameter -Wno-address-of-packed-member -Werror -I${CMAKE_SOURCE_DIR}
              -idirafter /usr/include/${CMAKE_LIBRARY_ARCHITECTURE} -c ${source} -o ${out}/${name}.bpf.o
      DEPENDS ${source} ${headers}
      COMMENT "BPF ${name}.bpf.o" VERBATIM)
    add_custom_command(
      OUTPUT ${out}/${name}.skel.h
      COMMAND ${HG_BPFTOOL} gen skeleton ${out}/${name}.bpf.o name hg_${name}_bpf > ${out}/${name}.skel.h.tmp
      COMMAND ${CMAKE_COMMAND} -E rename ${out}/${name}.skel.h.tmp ${out}/${name}.skel.h
      DEPENDS ${out}/${name}.bpf.o
      COMMENT "BPF ${name}.skel.h" VERBATIM)
    list(APPEND skeletons ${out}/${name}.skel.h)
  endforeach()
  if(skeletons)
    add_custom_target(hg_skeletons DEPENDS ${skeletons})
    add_dependencies(${target} hg_skeletons)
  endif()
  target_include_directories(${target} PRIVATE ${out})
endfunction()
