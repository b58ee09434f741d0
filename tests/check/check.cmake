# SPDX-License-Identifier: GPL-2.0-or-later
# hourglass check as a user meets it: as root, as nobody, on a kernel without BTF, with a limited target.
hg_test(check LABELS project COMMAND ${CMAKE_CURRENT_LIST_DIR}/check.sh $<TARGET_FILE:hourglass>)
