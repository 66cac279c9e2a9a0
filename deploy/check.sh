#!/usr/bin/env bash
# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
#
# What must hold before a commit: format, declared imports, house rules. Under a minute when warm.
#   deploy/check.sh               everything
#   deploy/check.sh --rules       only the rules that read text (what the pre-commit hook runs)
#   deploy/check.sh --self-test   proves that each rule finds what it is for
set -uo pipefail
shopt -s lastpipe
here=$(cd "$(dirname "$0")" && pwd)
top=$(dirname "$here")
failed=0

# rule TITLE: prints what standard input holds under the title; anything there is a failure.
rule() {
    local found
    found=$(cat)
    [ -n "$found" ] || return 0
    printf '\n%s:\n%s\n' "$1" "$(head -n 20 <<<"$found")"
    failed=1
}

# allowed KIND FILE: deploy/unsafe-files.txt lists the file.
allowed() {
    local kind glob _
    while read -r kind glob _; do
        # shellcheck disable=SC2053  # the right side is a pattern
        [ "$kind" = "$1" ] && [[ $2 == $glob ]] && return
    done <"$here/unsafe-files.txt"
    return 1
}

# unlisted KIND: of the `file:line:text` lines given, those whose file is not listed for the kind.
unlisted() {
    local line
    while IFS= read -r line; do allowed "$1" "${line%%:*}" || printf '%s\n' "$line"; done
}

# in_code PATTERN PLACE...: matching lines of Swift that are not comments.
in_code() { grep -rnE --include='*.swift' -- "$1" "${@:2}" 2>/dev/null | grep -vE '^[^:]+:[0-9]+:[[:space:]]*//' || true; }

# long_files: files of over 600 lines that do not say why in their first ten.
long_files() {
    local file
    find Sources Tests loadtest deploy config \( -name '*.swift' -o -name '*.py' -o -name '*.sh' -o -name '*.c' \) | while read -r file; do
        [ "$(wc -l <"$file")" -gt 600 ] && ! head -n 10 "$file" | grep -qi 'over 600 lines' && ! allowed long "$file" && echo "$file"
    done || true
}

without_licence() {
    local file
    find Package.swift Sources Tests deploy loadtest config .ci \( -name '*.swift' -o -name '*.py' -o -name '*.sh' \
        -o -name '*.c' -o -name '*.h' -o -name run -o -name pre-commit \) -type f 2>/dev/null | while read -r file; do
        head -n 6 "$file" | grep -q 'Copyright (c) the Sallyport authors' || echo "$file"
    done
}

text_rules() {
    in_code '^[a-z ]*import C(Linux|OpenSSL|Nghttp2|Hiredis|YAML)\b' Sources | unlisted c | rule "A C module is imported outside deploy/unsafe-files.txt"
    in_code '\bunsafe\b' Sources | grep -v 'nonisolated(unsafe)' | unlisted unsafe | rule "unsafe outside deploy/unsafe-files.txt"
    in_code '@unchecked Sendable|nonisolated\(unsafe\)' Sources | unlisted sendable | rule "A data-race check is switched off outside deploy/unsafe-files.txt"
    in_code '^[a-z ]*import Foundation$' Sources | rule "All of Foundation is imported: FoundationEssentials, off the hot path"
    in_code '^[[:space:]]*(public|open) (let|var|func|struct|class|enum|actor|protocol|init|import|static|final|extension|typealias)\b' Sources | rule "public: it is package here"
    in_code '\btry!|\btry\?|\bas!|\bfatalError\(' Sources | rule "A trap or a lost reason: write the catch"
    in_code '\bFIX[M]E\b|\bX[X]X\b' Sources Tests | rule "Unfinished"
    find Sources Tests deploy loadtest config -type d -name '* *' | rule "A folder with a space"
    long_files | rule "Over 600 lines without a line that says why"
    without_licence | rule "No licence header"
    grep -rnIE --exclude-dir=.build --exclude-dir=.git --exclude-dir=.venv --exclude-dir=.run --exclude-dir=.quickstart \
        '/wor[k]/|/roo[t]/|/hom[e]/[a-z]' . | rule "A path of one machine"
}

self_test() {
    local dir out
    dir=$(mktemp -d)
    trap 'rm -rf "$dir"' RETURN
    mkdir -p "$dir/Sources/HTTP/a folder" "$dir/Tests" "$dir/deploy" "$dir/loadtest" "$dir/config"
    cp "$here/unsafe-files.txt" "$dir/deploy/"
    printf '%s\n' 'import COpenSSL' 'import Foundation' 'let a = unsafe b' 'final class C: @unchecked Sendable {}' 'public let d = 1' \
        'let e = try! f()' "// FIX""ME" "let g = \"/roo""t/h\"" >"$dir/Sources/HTTP/Bad.swift"
    printf 'let x = 1 // FIX%s\n' ME >>"$dir/Sources/HTTP/Bad.swift"
    yes '' | head -n 601 >"$dir/Sources/HTTP/Long.swift"
    out=$(cd "$dir" && text_rules)
    local want
    for want in 'C module' 'unsafe outside' 'data-race' 'Foundation' 'public' 'A trap' 'Unfinished' 'space' 'Over 600' 'licence' 'one machine'; do
        grep -qF "$want" <<<"$out" || { echo "check.sh: self-test: no finding for '$want'"; return 1; }
    done
    rm -rf "$dir/Sources/HTTP"
    out=$(cd "$dir" && text_rules)
    [ -z "$out" ] || { echo "check.sh: self-test: finds in an empty tree: $out"; return 1; }
    echo "check.sh: self-test passed"
}

cd "$top" || exit 1
case ${1:-} in
--self-test) self_test; exit ;;
--rules | "") ;;
*) echo "usage: deploy/check.sh [--rules|--self-test]" >&2; exit 2 ;;
esac

text_rules
if [ -z "${1:-}" ]; then
    swift format lint --strict --parallel --recursive Sources Tests Package.swift 2>&1 | rule "Format: swift format format -i -r Sources Tests Package.swift"
    if command -v shellcheck >/dev/null; then
        shellcheck -x -P SCRIPTDIR deploy/*.sh deploy/githooks/* loadtest/*.sh .ci/run | rule "shellcheck" || true
    fi
    log=$(mktemp)
    swift build --explicit-target-dependency-import-check error >"$log" 2>&1 || tail -n 40 "$log" | rule "Build with declared imports only"
    rm -f "$log"
fi
[ "$failed" = 0 ] || { printf '\ncheck.sh: failed\n'; exit 1; }
echo "check.sh: everything holds"
