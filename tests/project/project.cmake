# SPDX-License-Identifier: GPL-2.0-or-later
# Tests of the tree itself: what is installed, what is documented, what is linked, how it is formatted.

set(project_tests ${CMAKE_CURRENT_LIST_DIR})

hg_test(install LABELS install COMMAND ${project_tests}/install.sh ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR} ${CMAKE_COMMAND})
hg_test(package LABELS install slow COMMAND ${project_tests}/package.sh ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR} ${CMAKE_CPACK_COMMAND})
hg_test(documented LABELS project slow COMMAND ${project_tests}/documented.sh ${CMAKE_SOURCE_DIR} $<TARGET_FILE:hourglass>)
hg_test(format LABELS style COMMAND ${project_tests}/format.sh ${CMAKE_SOURCE_DIR})
hg_test(paths LABELS style COMMAND ${project_tests}/paths.sh ${CMAKE_SOURCE_DIR})
hg_test(count LABELS project COMMAND ${project_tests}/count.sh ${CMAKE_SOURCE_DIR})

# analysis/ and trace/ as a program of their own, whole, with nothing of the collector: an undefined symbol fails the
# link, and the script looks at what it needs at run time.
add_executable(offline_link ${CMAKE_CURRENT_LIST_DIR}/offline_link.c)
target_link_libraries(offline_link PRIVATE -Wl,--whole-archive hg_analysis hg_trace hg_base -Wl,--no-whole-archive)
hg_test(offline_link LABELS project COMMAND ${project_tests}/offline_link.sh ${CMAKE_SOURCE_DIR} $<TARGET_FILE:offline_link>)
