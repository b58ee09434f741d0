/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The whole of analysis/, trace/ and base/ is linked into this program and nothing else: see project.cmake. */
int main(void)
{
	return 0;
}
