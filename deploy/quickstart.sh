#!/usr/bin/env bash
# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
#
# From a fresh checkout to a gateway that lets in one website and one server, in front of an example API and a sign-in service.
#   deploy/quickstart.sh [--port 8443] [--backend-port 9000] [--sign-in-port 9100] [--metrics-port 9464]
#   deploy/quickstart.sh --stop         ends what it started
#   deploy/quickstart.sh --self-test    starts on free ports, runs the printed lines, checks their answers, stops
# All it makes lies in .quickstart/ and .build/; running it again changes nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=common.sh
. deploy/common.sh

RUN=.quickstart
PORT=8443 BACKEND_PORT=9000 SIGN_IN_PORT=9100 METRICS_PORT=9464
ALLOWED=https://shop.example REFUSED=https://evil.example

# sallyport ARGUMENTS...: the command line of the gateway that was started here.
sallyport() { "$BINARY" "$@" --config $RUN/sallyport.yaml; }
# member NAME: the text of that member of the JSON object on standard input.
member() { python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }

make_certificate() {
    [ -s $RUN/site.pem ] && openssl x509 -checkend 86400 -noout -in $RUN/site.pem >/dev/null && return
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=localhost \
        -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout $RUN/site.key -out $RUN/site.pem 2>$RUN/openssl.log ||
        die "openssl made no certificate: $(tail -n 1 $RUN/openssl.log)"
    chmod 600 $RUN/site.key
}

write_configuration() {
    sed -e "s/\b8443\b/$PORT/; s/\b9000\b/$BACKEND_PORT/; s/\b9100\b/$SIGN_IN_PORT/; s/\b9464\b/$METRICS_PORT/" \
        config/examples/quickstart.yaml >$RUN/sallyport.yaml
}

# The sign-in service makes a new key at each start; the gateway reads it from a file.
fetch_sign_in_key() {
    local i
    for ((i = 0; i < 100; i++)); do
        curl --noproxy '*' -sf -o $RUN/sign-in.jwks.new "http://127.0.0.1:$SIGN_IN_PORT/.well-known/jwks.json" && break
        sleep 0.1
    done
    [ -s $RUN/sign-in.jwks.new ] || die "the sign-in service did not start; its log is $RUN/sign-in.log"
    cmp -s $RUN/sign-in.jwks.new $RUN/sign-in.jwks && rm $RUN/sign-in.jwks.new && return
    mv $RUN/sign-in.jwks.new $RUN/sign-in.jwks
    if is_running $RUN/gateway.pid sallyport; then sallyport reload >/dev/null; fi
}

# need_port PORT OPTION PIDFILE WORD: the port is free, unless what it is for runs already.
need_port() {
    is_running "$3" "$4" || port_is_free "$1" || die "port $1 is taken by another program: give another with $2"
}

# Asked before the build, which takes minutes.
need_ports() {
    need_port "$PORT" --port "$RUN"/gateway.pid sallyport
    need_port "$BACKEND_PORT" --backend-port "$RUN"/backend.pid backend.py
    need_port "$SIGN_IN_PORT" --sign-in-port "$RUN"/sign-in.pid signin.py
    need_port "$METRICS_PORT" --metrics-port "$RUN"/gateway.pid sallyport
    local twice
    twice=$(printf '%s\n' "$PORT" "$BACKEND_PORT" "$SIGN_IN_PORT" "$METRICS_PORT" | sort -n | uniq -d)
    [ -z "$twice" ] || die "port $twice is given to two: each needs one of its own"
}

# choose_ports: those it runs on, while it runs; else those given.
choose_ports() {
    local given="$PORT $BACKEND_PORT $SIGN_IN_PORT $METRICS_PORT"
    is_running $RUN/gateway.pid sallyport || return 0
    # shellcheck source=/dev/null
    . "$RUN/ports"
    [ "$given" = "8443 9000 9100 9464" ] || [ "$given" = "$PORT $BACKEND_PORT $SIGN_IN_PORT $METRICS_PORT" ] ||
        die "it runs already, on port $PORT: end it with --stop, then start it on other ports"
}

# start NAME WORD COMMAND...: starts it in the background unless it runs.
start() {
    local name=$1 word=$2
    shift 2
    is_running $RUN/"$name".pid "$word" && return
    setsid "$@" >>$RUN/"$name".log 2>&1 </dev/null &
    echo $! >$RUN/"$name".pid
}

wait_until_ready() {
    local i
    for ((i = 0; i < 150; i++)); do
        curl --noproxy '*' -sf -o /dev/null "http://127.0.0.1:$METRICS_PORT/readyz" && return
        is_running $RUN/gateway.pid sallyport || break
        sleep 0.1
    done
    tail -n 20 $RUN/gateway.log >&2
    die "the gateway did not become ready; its log is $RUN/gateway.log"
}

# The key is shown once, so it is kept beside the development certificate.
make_app() {
    [ -s $RUN/app ] && return
    sallyport orgs list --json | grep -q '"acme"' || sallyport orgs create acme --json >/dev/null
    local app key
    # Where this was interrupted before, the app is there already.
    app=$(sallyport apps show --app acme/quickstart --json 2>/dev/null | member app_id 2>/dev/null) ||
        app=$(sallyport apps create --org acme --name quickstart --json | member app_id)
    sallyport origins add $ALLOWED --app "$app" --json >/dev/null
    key=$(sallyport keys create --app "$app" --name quickstart --json | member key)
    (umask 077 && printf 'APP=%s\nKEY=%s\n' "$app" "$key" >$RUN/app)
}

# The four lines, one a row.
lines() {
    # shellcheck source=/dev/null
    . "$RUN/app"
    local curl="curl -s --cacert $RUN/site.pem" url=https://localhost:$PORT app="-H 'X-App-Id: $APP'"
    echo "$curl $url/v1/hello $app -H 'X-Api-Key: $KEY'"
    echo "$curl $url/v1/hello $app -H 'Origin: $ALLOWED'"
    # A refusal ends without a line's end.
    printf '%s\n' "$curl -w '\n' $url/v1/hello $app -H 'Origin: $REFUSED'"
    printf '%s\n' "$curl -o /dev/null -w '%{http_code}\\n' '$url/limited/[1-6]' $app -H 'X-Api-Key: $KEY'"
}

print_lines() {
    local titles=("a server with a key is let in" "an allowed website is let in" "another website is refused, and told the fix"
        "the sixth call in a minute is one too many: five times 200, then 429") i=0 line
    printf '\nThe gateway runs on https://localhost:%s. Paste in the folder %s:\n' "$PORT" "$PWD"
    lines | while IFS= read -r line; do
        printf '\n# %s\n%s\n' "${titles[i]}" "$line"
        i=$((i + 1))
    done
    # What a refusal says is mended by a command: it is to find the gateway, and the app of these lines.
    # shellcheck source=/dev/null
    . "$RUN/app"
    printf '\n# the command line: sallyport --help; it finds this gateway and this app by\n'
    # shellcheck disable=SC2016  # the reader's shell expands them
    printf 'export SALLYPORT_CONFIG=%s/sallyport.yaml SALLYPORT_APP=%s PATH=$PWD/%s:$PATH\n' $RUN "$APP" "${BINARY%/*}"
    printf '\nWhat comes next: config/examples/README.md (a website, an iOS or Android app, a server, a simulator)\n'
    printf '\nEnd it with: deploy/quickstart.sh --stop\n'
}

stop() {
    stop_pid $RUN/gateway.pid sallyport
    stop_pid $RUN/backend.pid backend.py
    stop_pid $RUN/sign-in.pid signin.py
}

run() {
    choose_ports
    need_ports
    need_packages "${BUILD_PACKAGES[@]}" "${RUN_PACKAGES[@]}"
    need_swift
    say "Building the gateway (a few minutes the first time)"
    release_build
    (umask 077 && mkdir -p $RUN)
    make_certificate
    if ! is_running $RUN/gateway.pid sallyport; then
        write_configuration
        printf 'PORT=%s BACKEND_PORT=%s SIGN_IN_PORT=%s METRICS_PORT=%s\n' "$PORT" "$BACKEND_PORT" "$SIGN_IN_PORT" "$METRICS_PORT" >$RUN/ports
    fi
    start backend backend.py python3 config/examples/backend.py --port "$BACKEND_PORT"
    start sign-in signin.py python3 config/examples/signin.py --port "$SIGN_IN_PORT"
    fetch_sign_in_key
    start gateway sallyport "$BINARY" run --config $RUN/sallyport.yaml
    wait_until_ready
    make_app
}

self_test() {
    RUN=.quickstart/self-test
    rm -rf $RUN
    read -r PORT BACKEND_PORT SIGN_IN_PORT METRICS_PORT < <(python3 -c '
import socket
s = [socket.create_server(("127.0.0.1", 0)) for _ in range(4)]
print(*(x.getsockname()[1] for x in s))')
    trap 'stop; rm -rf $RUN' EXIT
    run
    local round got expected
    expected=('"api_key"' '"origin"' "sallyport origins add $REFUSED" $'200\n200\n200\n200\n200\n429')
    for round in 1 2; do
        local i=0 line
        while IFS= read -r line; do
            # The window is still full in the second round.
            [ "$round$i" = 23 ] && break
            got=$(bash -c "$line")
            [[ $got == *"${expected[i]}"* ]] || die "self-test: line $((i + 1)) answered: $got"
            i=$((i + 1))
        done < <(lines)
        run
    done
    (RUN=$RUN/none need_ports) 2>/dev/null && die "self-test: a busy port was not seen"
    (PORT=1 choose_ports) 2>/dev/null && die "self-test: another port was taken for the one it runs on"
    stop
    port_is_free "$PORT" || die "self-test: still running after --stop"
    echo "quickstart.sh: self-test passed"
}

action=run
while [ $# -gt 0 ]; do
    case $1 in
    --stop) action=stop ;;
    --self-test) action=self_test ;;
    --port | --backend-port | --sign-in-port | --metrics-port)
        if ! [[ ${2:-} =~ ^[1-9][0-9]{0,4}$ ]] || [ "$2" -gt 65535 ]; then die "$1 takes a port number, 1 to 65535"; fi
        case $1 in --port) PORT=$2 ;; --backend-port) BACKEND_PORT=$2 ;; --sign-in-port) SIGN_IN_PORT=$2 ;; *) METRICS_PORT=$2 ;; esac
        shift
        ;;
    -h | --help) usage && exit ;;
    *) die "there is no option $1: see deploy/quickstart.sh --help" ;;
    esac
    shift
done
$action
if [ $action = run ]; then print_lines; fi
