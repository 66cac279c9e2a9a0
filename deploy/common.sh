# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
# shellcheck shell=bash disable=SC2034
# What the scripts beside this file share. To be sourced.

# The libraries the gateway is built on and the server it starts.
BUILD_PACKAGES=(libssl-dev libnghttp2-dev libhiredis-dev libyaml-dev)
RUN_PACKAGES=(redis-server openssl curl python3 ca-certificates)
# What the tests use besides: real clients, a real browser, real upstreams.
TEST_PACKAGES=(python3-venv faketime jose nghttp2-client nodejs nginx chromium wrk strace procps)
# What the gateway is measured beside.
LOAD_PACKAGES=(haproxy nghttp2-client nginx libnginx-mod-http-lua lua-resty-core lua-cjson gcc libc6-dev procps redis-server redis-tools strace)

# usage: what the head of the script says of it.
usage() { sed -n '5,/^[^#]/s/^# \{0,1\}//p' "$0"; }
say() { printf '\n== %s\n' "$*" >&2; }
die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# as_root COMMAND...: runs it as root: directly, or by sudo.
as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else
        command -v sudo >/dev/null || die "not root and no sudo: run as root once, to install packages"
        sudo "$@"
    fi
}

# need_packages NAME...: installs the Debian packages that are missing, and starts no service.
need_packages() {
    if ! command -v dpkg-query >/dev/null; then
        say "This is no Debian: what stands for $* must be installed already"
        return
    fi
    local missing=() name
    for name in "$@"; do
        dpkg-query -W -f='${Status}\n' "$name" 2>/dev/null | grep -q 'ok installed' || missing+=("$name")
    done
    [ ${#missing[@]} = 0 ] && return
    say "Installing ${missing[*]}"
    local policy=/usr/sbin/policy-rc.d
    if [ ! -e $policy ]; then
        printf '#!/bin/sh\nexit 101\n' | as_root tee $policy >/dev/null
        as_root chmod 755 $policy
    else
        policy=
    fi
    local status=0
    { as_root apt-get -q update && as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get -q install -y --no-install-recommends "${missing[@]}"; } >&2 || status=$?
    [ -z "$policy" ] || as_root rm -f "$policy"
    [ "$status" = 0 ] || die "apt-get could not install ${missing[*]}"
}

need_swift() {
    command -v swift >/dev/null || die "no swift on the PATH: install Swift 6.3, then run again"
    local version
    version=$(swift --version 2>&1) || die "swift does not run: $(head -n 1 <<<"$version")"
    [[ $version =~ Swift\ version\ ([0-9]+)\.([0-9]+) ]] || die "swift does not say its version: $(head -n 1 <<<"$version")"
    ((BASH_REMATCH[1] > 6 || (BASH_REMATCH[1] == 6 && BASH_REMATCH[2] >= 3))) ||
        die "Swift 6.3 or newer is needed, and here is ${BASH_REMATCH[1]}.${BASH_REMATCH[2]}"
}

# port_is_free PORT: nobody listens there on the loopback.
port_is_free() { ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# is_running PIDFILE WORD: the process named in the file lives, and its command line holds WORD.
is_running() {
    local pid
    pid=$(cat "$1" 2>/dev/null) || return 1
    # It may end between the look and the reading.
    [ -n "$pid" ] && { tr '\0' ' ' <"/proc/$pid/cmdline"; } 2>/dev/null | grep -qF -- "$2"
}

# stop_pid PIDFILE WORD: ends that process by TERM, after 15 s by KILL, and removes the file.
stop_pid() {
    if is_running "$1" "$2"; then
        local pid i
        pid=$(cat "$1")
        kill -TERM "$pid" 2>/dev/null || true
        for ((i = 0; i < 150; i++)); do
            is_running "$1" "$2" || break
            sleep 0.1
        done
        if is_running "$1" "$2"; then kill -KILL "$pid" 2>/dev/null || true; fi
    fi
    rm -f "$1"
}

# release_build: builds the gateway as it is shipped; `$BINARY` is it.
BINARY=.build/release/sallyport
release_build() {
    need_packages "${BUILD_PACKAGES[@]}"
    swift build -c release --static-swift-stdlib --product sallyport >&2 || die "the release build failed"
    place_backtracer "${BINARY%/*}"
}

# place_backtracer FOLDER: puts the program that writes where a process trapped beside the binary,
# which looks for it there.
place_backtracer() {
    local swift found
    swift=$(readlink -f "$(command -v swift)")
    found=${swift%/bin/*}/libexec/swift/linux/swift-backtrace-static
    if [ -x "$found" ]; then install -m 755 "$found" "$1/"; else
        say "no $found: a process that traps will not say where"
    fi
}
