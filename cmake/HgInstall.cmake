# SPDX-License-Identifier: GPL-2.0-or-later
# What `cmake --install` puts where. Man pages and completions are found by their names, so that a new verb needs no
# edit here; tests/project/install.sh fails when one of them is missing.

install(TARGETS hourglass RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

file(GLOB man1 CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/*.1)
file(GLOB man5 CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/*.5)
install(FILES ${man1} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${man5} DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)

install(FILES completions/hourglass.bash RENAME hourglass
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES completions/_hourglass DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES completions/hourglass.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

file(GLOB schemas CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/*.schema.json)
install(FILES ${schemas} DESTINATION ${CMAKE_INSTALL_DATADIR}/hourglass)

install(FILES README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
file(GLOB guides CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/*.md)
install(FILES ${guides} DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
