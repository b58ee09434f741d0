# SPDX-License-Identifier: GPL-2.0-or-later
# `cpack` in a build folder makes a .deb: cmake --preset release && cmake --build --preset release && (cd build && cpack)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME hourglass)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(HG_PACKAGE_CONTACT "hourglass maintainers <hourglass@localhost>" CACHE STRING "Who answers for the package")
set(CPACK_PACKAGE_CONTACT ${HG_PACKAGE_CONTACT})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# The first line of the description is the project's.
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"Attaches to a running benchmark on Linux, records what its threads run and
wait for by eBPF, and names what limits its throughput, with the evidence
for it, what would be gained by removing that limit, and what comes next.
.
Recording needs root and a kernel from 5.10 on with BTF; reports need neither.")

# Debian's policy: compressed man pages, `copyright` and a changelog. They are made in the staged tree only.
set(HG_SOURCE_DIR ${CMAKE_SOURCE_DIR})
configure_file(cmake/deb-stage.cmake.in ${CMAKE_BINARY_DIR}/deb-stage.cmake @ONLY)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_BINARY_DIR}/deb-stage.cmake)

include(CPack)
