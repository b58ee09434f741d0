# SPDX-License-Identifier: GPL-2.0-or-later
# Tests of analysis/ that are not one cmocka program each.

# Debian's own Python before another in PATH: python3-jsonschema is installed for it.
find_program(HG_PYTHON3 python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(HG_PYTHON3 python3)
if(HG_PYTHON3)
  hg_test(report_schema LABELS offline analysis
          COMMAND ${HG_PYTHON3} ${CMAKE_CURRENT_LIST_DIR}/report_schema.py $<TARGET_FILE:test_analysis_render>
                  ${CMAKE_SOURCE_DIR}/docs/report.schema.json)
else()
  hg_test(report_schema LABELS offline analysis COMMAND sh -c "echo 'skip: python3 is missing'; exit 77")
endif()

add_dependencies(test_analysis_report hourglass)
target_compile_definitions(test_analysis_report PRIVATE HG_HOURGLASS="$<TARGET_FILE:hourglass>")
