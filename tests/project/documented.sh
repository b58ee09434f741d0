#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# usage: documented.sh SOURCE HOURGLASS
# `hourglass --help` lists the verbs, `hourglass VERB --help` their options. Each verb has a man page and is in
# hourglass(1); each option is in its verb's man page and in the completions of bash, zsh and fish.
set -u
source_dir=$1 hourglass=$2
status=0

missing()
{
	echo "$*"
	status=1
}

# The text of a man page as a reader greps it: no font changes, plain hyphens.
page_text()
{
	sed -e 's/\\f[BIRP]//g' -e 's/\\-/-/g' "$1"
}

# --help of argp: "  -o, --output=FILE   text"; an option stands in the first columns of a line.
options_of()
{
	"$hourglass" "$1" --help | grep -oE '^ {1,8}-[^ ,=[]+(\[?=?[^ ,]*)?(, --[a-z][a-z-]*)*' |
		grep -oE -- '--[a-z][a-z-]*|(^| )-[a-zA-Z?]' | tr -d ' ' | sort -u
}

has_word()
{
	grep -qE -- "(^|[^-a-zA-Z])$2($|[^-a-zA-Z])" <<< "$1"
}

# What bash offers for "hourglass VERB WORD<Tab>", by running the completion itself.
bash_offers()
{
	bash --norc -c '
		. "$1/completions/hourglass.bash"
		COMP_WORDS=(hourglass "$2" "$3") COMP_CWORD=2 COMPREPLY=()
		[ -n "$2" ] || { COMP_WORDS=(hourglass "$3"); COMP_CWORD=1; }
		_hourglass hourglass "$3" "$2" && printf "%s\n" "${COMPREPLY[@]}"
	' _ "$source_dir" "$1" "$2"
}

# Each cause that a report can name is in its man page and in the reader's table in README.md.
page=$(page_text "$source_dir/docs/hourglass-report.1")
causes=$(sed -n '/hg_cause_gloss(/,/^}/p' "$source_dir/analysis/render_common.c" | tr -d '\n\t' |
	grep -oE '\{"[a-z]+", ?"[a-z-]+", ?"' |
	sed -E 's/\{"([a-z]+)", ?"([a-z-]+)", ?"/\1\/\2/')
[ -n "$causes" ] || missing "analysis/render_common.c has no causes"
for cause in $causes; do
	grep -qx ".B $cause" <<< "$page" || missing "docs/hourglass-report.1 lacks the cause $cause"
	grep -qF "| $cause |" "$source_dir/README.md" || missing "README.md lacks the cause $cause"
done

verbs=$("$hourglass" --help | sed -n 's/^  \([a-z][a-z-]*\)  .*/\1/p')
[ -n "$verbs" ] || { echo "hourglass --help lists no verb"; exit 1; }
overview=$(page_text "$source_dir/docs/hourglass.1")

for verb in $verbs; do
	page=$source_dir/docs/hourglass-$verb.1
	has_word "$overview" "$verb" || missing "docs/hourglass.1 does not name the verb $verb"
	grep -qxF "$verb" <<< "$(bash_offers '' '')" || missing "completions/hourglass.bash does not offer $verb"
	grep -qF "'$verb:" "$source_dir/completions/_hourglass" || missing "completions/_hourglass lacks $verb"
	grep -qE "__fish_use_subcommand.* -a $verb( |$)" "$source_dir/completions/hourglass.fish" ||
		missing "completions/hourglass.fish lacks $verb"
	[ -s "$page" ] || { missing "the verb $verb has no docs/hourglass-$verb.1"; continue; }

	text=$(page_text "$page")
	bash_words=$(bash_offers "$verb" -)
	zsh_words=$(sed -n "/^_hourglass_$verb()/,/^}/p" "$source_dir/completions/_hourglass")
	fish_words=$(grep -E "__fish_seen_subcommand_from $verb'" "$source_dir/completions/hourglass.fish" |
		sed -E 's/ -l ([a-z-]+)/ --\1/g; s/ -s ([a-zA-Z])/ -\1/g')
	options=$(options_of "$verb")
	[ -n "$options" ] || missing "hourglass $verb --help prints no option"
	for option in $options; do
		# argp adds these to every verb; hourglass(1) explains --help.
		case $option in --help | --usage | --version | '-?' | -V) continue ;; esac
		has_word "$text" "$option" || missing "docs/hourglass-$verb.1 does not explain $option"
		has_word "$bash_words" "$option" || missing "completions/hourglass.bash does not offer $option of $verb"
		has_word "$zsh_words" "$option" || missing "completions/_hourglass lacks $option of $verb"
		has_word "$fish_words" "$option" || missing "completions/hourglass.fish lacks $option of $verb"
	done
	# The other way: what the completions offer must exist.
	for option in $bash_words; do
		case $option in --help) continue ;; esac
		grep -qxF -- "$option" <<< "$options" || missing "completions/hourglass.bash offers $option, which $verb lacks"
	done
done

if command -v mandoc > /dev/null; then
	mandoc -T lint -W error "$source_dir"/docs/*.[0-9] || missing "mandoc finds errors in the man pages"
elif command -v man > /dev/null; then
	for page in "$source_dir"/docs/*.[0-9]; do
		errors=$(LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 > /dev/null)
		[ -z "$errors" ] || missing "$errors"
	done
fi
exit $status
