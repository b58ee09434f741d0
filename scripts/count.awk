# SPDX-License-Identifier: GPL-2.0-or-later
# Counts the tests in ctest's JUnit files: the failed and the skipped by name, the skipped with their reason, then one
# line with the sums. Exit status 1 when one failed or none ran. Called by scripts/test.

function unescape(text)
{
	gsub(/&lt;/, "<", text)
	gsub(/&gt;/, ">", text)
	gsub(/&quot;/, "\"", text)
	gsub(/&apos;/, "'", text)
	gsub(/&amp;/, "\\&", text)
	return text
}

function attribute(line, name)
{
	if (!match(line, " " name "=\"[^\"]*\""))
		return ""
	return unescape(substr(line, RSTART + length(name) + 3, RLENGTH - length(name) - 4))
}

# A test that skips as a whole says why; cmocka names the cases that skipped inside one that passed.
function note_skip(line)
{
	line = unescape(line)
	sub(/^.*<system-out>/, "", line)
	if (line ~ /^\[  SKIPPED \] [A-Za-z_]/ && line !~ /test\(s\)/) {
		sub(/^\[  SKIPPED \] /, "", line)
		inside[++insides] = label " " line (why != "" ? ": " why : "")
		why = ""
	} else if (tolower(line) ~ /^(# )?skip(ped)?[: ]/) {
		sub(/^(# )?[A-Za-z]+:? */, "", line)
		why = line
	}
}

FNR == 1 {
	preset = FILENAME
	sub(/^.*\//, "", preset)
	sub(/\.xml$/, "", preset)
}

/<testcase / {
	label = attribute($0, "name")
	if (preset != "debug")
		label = label " (" preset ")"
	status = attribute($0, "status")
	skipped = 0
	why = ""
	if ($0 ~ /\/>[ \t]*$/)
		finish()
}
/<skipped / { skipped = 1; missing = attribute($0, "message") }
{ note_skip($0) }
/<\/testcase>/ { finish() }

function finish()
{
	if (status == "run") {
		passed++
	} else if (status == "disabled" || (skipped && missing ~ /SKIP_/)) {
		skips++
		print "skipped: " label ": " (why != "" ? why : "it gives no reason")
	} else {
		failed++
		print "failed: " label
	}
	skipped = 0
	status = ""
}

END {
	for (i = 1; i <= insides; i++)
		print "skipped inside: " inside[i]
	printf "%d passed, %d failed, %d skipped\n", passed, failed, skips
	exit failed > 0 || passed == 0
}
