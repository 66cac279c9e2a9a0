#!/usr/bin/env python3
# Copyright (c) the Sallyport authors.
# Licensed under the Apache License, Version 2.0.
"""HTTP/1.1 parsing, smuggling and response-side judge for a reverse proxy (stdlib only).

  h1_cases.py --target 127.0.0.1:8080 --upstream-port 24900 [--tls] [--json OUT] [--only REGEX] [--group G,G] [-v]
  h1_cases.py --table A.json B.json ...        score table and failing cases of saved runs

The proxy under test must send everything to 127.0.0.1:UPSTREAM-PORT by HTTP/1.1, whatever the Host or path.
This script listens there itself with a strict recording upstream (upstream.py).

Classes seen:  rejected (4xx/5xx, nothing complete upstream)  closed  hung  answered (the proxy answered <400 itself)
  forwarded (clean)  ambiguous (forwarded bytes that another backend could frame or split otherwise; see lint)
  invalid (forwarded bytes are one message for any backend, but break the grammar: Host, target, version, CTL, trailers)
  smuggled (upstream saw more requests than the proxy answered)  overread (the proxy itself read, and answered, more
  requests than the RFC lets it: e.g. it kept the connection after CL+TE)  crashed (the target no longer listens).
Expectations in h1_cases.json:  reject | forward | safe (reject or forward cleanly) | wait (never complete upstream);
  for responses: relay | relay-or-502 | reject-up | truncated.   `hard` is the hardened expectation, where stricter.
Verdict per case: PASS, or SECURITY / LENIENT / STRICT / WRONG / HUNG, for the RFC and for the hardened reading.
"""
import argparse, json, os, re, socket, ssl, sys, time
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import upstream as U

HERE = os.path.dirname(os.path.abspath(__file__))


def expand(parts):
    for p in parts:
        if isinstance(p, str): yield p.encode("latin-1")
        elif isinstance(p, list): yield p[0].encode("latin-1") * p[1]
        else: yield p


def parse_responses(buf, heads):
    """-> (list of final responses, rest, n_interim). heads: number of leading responses without body (HEAD)."""
    out, interim = [], 0
    while True:
        m = re.search(rb"\r?\n\r?\n", buf)
        if not m:
            return out, buf, interim
        head = buf[:m.end()]
        lines = re.split(rb"\r?\n", head.rstrip(b"\r\n"))
        sm = re.match(rb"^HTTP/\d\.\d (\d+)", lines[0])
        if not sm:
            return out, buf, interim
        st = int(sm.group(1))
        r = {"status": st, "head": head, "headers": [], "body": b"", "complete": False, "framing": "", "lint": []}
        L = r["lint"]
        if b"\x00" in head: L.append("NUL")
        if re.search(rb"(?<!\r)\n", head): L.append("bare LF")
        if re.search(rb"\r(?!\n)", head): L.append("bare CR")
        for ln in lines[1:]:
            if ln[:1] in (b" ", b"\t"): L.append("obs-fold"); continue
            n, c, v = ln.partition(b":")
            if not c: L.append("no colon")
            elif not U.TCHAR.match(n): L.append("bad name")
            r["headers"].append((n.strip().lower().decode("latin-1"), v.strip().decode("latin-1")))
        g = lambda k: [v for n, v in r["headers"] if n == k]
        cl, te = g("content-length"), g("transfer-encoding")
        if len(cl) > 1: L.append("several CL")
        if cl and te: L.append("CL and TE")
        if 100 <= st < 200 and st != 101:
            interim += 1; buf = buf[m.end():]; continue
        rest = buf[m.end():]
        if st == 101 or st in (204, 304) or heads > 0:
            r["complete"] = True; r["framing"] = "none"; heads -= 1
            if st == 101: r["body"], rest = rest, b""
        elif te:
            r["framing"] = "chunked"; ok = False
            while True:
                i = rest.find(b"\r\n")
                if i < 0: break
                mm = re.match(rb"^([0-9a-fA-F]+)", rest[:i])
                if not mm: L.append("bad chunk"); break
                n = int(mm.group(1), 16)
                if n == 0:
                    j = rest.find(b"\r\n\r\n", i)
                    if rest[i:i + 4] == b"\r\n\r\n": rest = rest[i + 4:]; ok = True
                    elif j >= 0: rest = rest[j + 4:]; ok = True
                    break
                if len(rest) < i + 4 + n:
                    r["body"] += rest[i + 2:]; break
                r["body"] += rest[i + 2:i + 2 + n]; rest = rest[i + 4 + n:]
            r["complete"] = ok
            if not ok: rest = b""
        elif cl:
            r["framing"] = "cl"
            n = int(cl[0]) if cl[0].isdigit() else 0
            r["body"] = rest[:n]; r["complete"] = len(r["body"]) == n; rest = rest[n:]
        else:
            r["framing"] = "eof"; r["body"] = rest; rest = b""
        out.append(r); buf = rest
        if not r["complete"]:
            return out, buf, interim


def talk(a, case, rec, timeout):
    host, port = a.target.rsplit(":", 1)
    s = socket.create_connection((host, int(port)), 5)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if a.tls:
        cx = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT); cx.check_hostname = False; cx.verify_mode = ssl.CERT_NONE
        cx.set_alpn_protocols(["http/1.1"]); s.settimeout(5); s = cx.wrap_socket(s, server_hostname=a.sni)
    s.settimeout(timeout)
    buf, closed, reset = b"", False, False
    first = b""
    want = case.get("n", 1) if case["expect"] in ("forward", "relay") else 1

    def rx(t):
        nonlocal buf, closed, reset
        s.settimeout(t)
        try:
            d = s.recv(262144)
            if not d: closed = True
            buf += d
            return bool(d)
        except (socket.timeout, ssl.SSLWantReadError): return False
        except OSError: closed = reset = True; return False

    try:
        for p in expand(case["raw"]):
            if isinstance(p, dict):
                if "sleep" in p: rx(p["sleep"])
                if "fin" in p:
                    try: (s if not a.tls else s).shutdown(socket.SHUT_WR) if not a.tls else socket.socket.shutdown(s, socket.SHUT_WR)
                    except OSError: pass
                continue
            first += p[:8]
            s.settimeout(timeout); s.sendall(p)
    except (OSError, ssl.SSLError):
        reset = True
    heads = 1 if first.lstrip(b"\r\n").startswith(b"HEAD ") else 0
    end = time.time() + timeout
    got_at = None; sent_follow = False
    while time.time() < end and not closed:
        rx(0.06)
        rs, rest, _ = parse_responses(buf, heads)
        fin = [r for r in rs if r["complete"]]
        if len(fin) >= want:
            if case.get("follow") and not sent_follow:
                sent_follow = True
                time.sleep(0.05)
                try: s.sendall(case["follow"].encode("latin-1"))
                except OSError: pass
                got_at = time.time() + 0.3
                continue
            if got_at is None: got_at = time.time()
            if time.time() - got_at > (0.35 if case.get("max_n") or case.get("n", 1) > 1 else 0.1): break
    rs, rest, interim = parse_responses(buf, heads)
    for r in rs:
        if r["framing"] == "eof" and closed: r["complete"] = not reset
    if case.get("fin_wait"): time.sleep(0.2)
    try: s.close()
    except OSError: pass
    return {"responses": rs, "rest": rest, "closed": closed, "reset": reset, "bytes": buf, "interim": interim}


def check_fwd(f, reqs):
    bad = []
    r = reqs[0]
    L = lambda b: b.decode("latin-1")
    H = {}
    for k, v in r.headers: H.setdefault(L(k).lower(), []).append(L(v))
    t = L(r.target)
    if "method" in f and L(r.method) != f["method"]: bad.append("method %r" % L(r.method))
    if "target" in f and t != f["target"]: bad.append("target %r" % t)
    if "target_in" in f and t not in f["target_in"]: bad.append("target %r" % t)
    if "targets" in f and [L(x.target) for x in reqs] != f["targets"]: bad.append("targets %r" % [L(x.target) for x in reqs])
    if "not_target" in f and any(L(x.target) == f["not_target"] for x in reqs): bad.append("target %s reached upstream" % f["not_target"])
    if "body" in f and L(r.body) != f["body"]: bad.append("body %r" % L(r.body[:40]))
    if "body_in" in f and L(r.body) not in f["body_in"]: bad.append("body %r" % L(r.body[:40]))
    if "body_len" in f and len(r.body) != f["body_len"]: bad.append("body_len %d" % len(r.body))
    if "host" in f and (H.get("host") or [""])[0] not in f["host"]: bad.append("host %r" % H.get("host"))
    for k, v in f.get("headers", {}).items():
        if v not in H.get(k, []): bad.append("header %s=%r" % (k, H.get(k)))
    for k, v in f.get("joined", {}).items():
        if re.sub(r"\s*,\s*", ",", ",".join(H.get(k, []))) != v: bad.append("header %s=%r" % (k, H.get(k)))
    for k in f.get("absent", []):
        if k in H: bad.append("header %s forwarded" % k)
    for k in f.get("has", []):
        if k not in H: bad.append("header %s lost" % k)
    if f.get("te_ok") and any(x.lower() != "trailers" for x in H.get("te", [])): bad.append("te %r" % H.get("te"))
    if "no_upgrade" in f and any(f["no_upgrade"] in x.lower() for x in H.get("upgrade", [])): bad.append("upgrade %r forwarded" % H.get("upgrade"))
    return bad


def judge_req(case, exp, cls, bad, n_up):
    if exp == "reject":
        if cls in ("rejected", "closed"): return "PASS"
        return {"ambiguous": "SECURITY", "smuggled": "SECURITY", "overread": "SECURITY", "hung": "HUNG"}.get(cls, "LENIENT")
    if exp == "wait":
        return "PASS" if cls in ("hung", "closed", "rejected") else "SECURITY"
    if cls in ("ambiguous", "smuggled"): return "SECURITY"
    if cls == "hung": return "PASS" if case.get("hang_ok") else "HUNG"
    if cls in ("invalid", "overread"): return "LENIENT"
    worse = "SECURITY" if case.get("sev") else "WRONG"
    if exp == "safe":
        if cls in ("rejected", "closed", "answered"): return "PASS"
        return worse if bad else "PASS"
    if cls in ("rejected", "closed"): return "STRICT"
    if cls == "answered": return "WRONG"
    return "WRONG" if bad or n_up != case.get("n", 1) else "PASS"


def run_case(a, case, rec, state):
    state["case"] = case if case["group"] == "response" else None
    state["served"] = 0
    rec.begin()
    try:
        t = talk(a, case, rec, 1.2 if case["expect"] == "wait" else a.timeout)
    except OSError as e:
        return {"id": case["id"], "class": "noconnect", "rfc": "HUNG", "hard": "HUNG", "detail": str(e)}
    time.sleep(0.04)
    up = rec.end()
    done = [r for r in up["requests"] if r.complete]
    fin = t["responses"]
    res = {"id": case["id"], "group": case["group"], "expect": case["expect"], "hardened": case.get("hard", case["expect"]),
           "status": [r["status"] for r in fin], "n_up": len(done), "closed": t["closed"]}
    bad, detail = [], []
    if case["group"] == "response":
        e = case["expect"]; c = case.get("rs", {})
        f = fin[0] if fin else None
        gw = f is None and t["closed"] or f is not None and f["status"] >= 500 and f["status"] != c.get("status")
        if f is None and t["bytes"] and not t["bytes"].startswith(b"HTTP/1."): t["closed"] = False; bad.append("raw upstream bytes to client")
        res["class"] = "garbage" if bad else "hung" if f is None and not t["closed"] else "gateway-error" if gw else "relayed" if f["complete"] else "cut"
        if f is not None and not gw:
            L = f["lint"]
            if L: detail.append("lint " + "; ".join(L))
            if "status" in c and f["status"] != c["status"]: bad.append("status %d" % f["status"])
            if "body" in c and f["body"].decode("latin-1") != c["body"]: bad.append("body %r" % f["body"][:40])
            for k in c.get("absent", []):
                if any(n == k for n, v in f["headers"]): bad.append("header %s relayed" % k)
            if t["rest"] and not case.get("follow"): bad.append("extra bytes to client %r" % t["rest"][:40])
            if b"evil" in t["bytes"] and case.get("no_evil"): bad.append("poisoned response reached the client"); L.append("x")
            split = any(n == "set-cookie" for n, v in f["headers"])
            if split: bad.append("split header")
            if split and case.get("no_split") == "rfc": L.append("x")
            if split and case.get("no_split") == "hard": bad.pop()
            if e in ("relay", "relay-or-502"): v = "SECURITY" if L else "PASS" if not bad and f["complete"] else "WRONG"
            elif e == "truncated": v = "SECURITY" if f["complete"] and f["framing"] != "eof" else "PASS" if f["framing"] != "eof" or t["reset"] else "LENIENT"
            else: v = "SECURITY" if L else "LENIENT"
        elif gw: v = "STRICT" if e == "relay" else "PASS"
        else: v = "LENIENT" if bad else "PASS" if case.get("hang_ok") else "HUNG"
        hv = "LENIENT" if v == "PASS" and f is not None and not gw and case.get("no_split") == "hard" and split else v
        res.update(rfc=v, hard=hv, detail="; ".join(bad + detail))
        return res
    lint = [x for r in done for x in r.lint]
    if up["left"] and len(done): lint.append("stray bytes upstream %r" % up["left"][0][:40].decode("latin-1"))
    relayed = sum(1 for r in fin if any(n == "x-up" for n, v in r["headers"]))
    mx = case.get("max_n", case.get("n", 1)); hcls = None; hbad = []
    if not done:
        if any(r["status"] >= 400 for r in fin): cls = "rejected"
        elif fin: cls = "answered"
        elif t["closed"]: cls = "closed"
        else: cls = "hung"
        if len(up["requests"]): detail.append("partial upstream")
    elif len(done) > mx and relayed >= len(done) and not U.framing(lint): cls = "overread"; detail.append("%d requests upstream, all answered" % len(done))
    elif len(done) > mx or (len(done) > 1 and relayed < len(done) and len(done) > case.get("n", 1)): cls = "smuggled"; detail.append("%d requests upstream, %d answered" % (len(done), relayed))
    else:
        of = lambda l: "ambiguous" if U.framing(l) else "invalid" if l else "forwarded"
        cls, hcls = of([x for x in lint if not x.startswith(tuple(case.get("allow", [])) or "\0")]), of(lint)
        detail += sorted(set(lint))
    if done:
        f = dict(case.get("fwd", {}))
        if "not_target" in case: f["not_target"] = case["not_target"]
        bad = check_fwd(f, done); hbad = check_fwd(case.get("hfwd", {}), done)
        hop = sorted({h for r in done for h in r.hop})
        if hop: res["hop"] = hop
    soft = ""
    if cls == "rejected" and fin[0]["status"] >= 500 and fin[0]["status"] not in (501, 505): soft = "status %d blames upstream" % fin[0]["status"]
    elif cls == "rejected" and case.get("status") and fin[0]["status"] not in case["status"]: soft = "status %d" % fin[0]["status"]
    v = judge_req(case, case["expect"], cls, bad, len(done))
    h = judge_req(case, case.get("hard", case["expect"]), hcls or cls, bad + hbad, len(done))
    bad += hbad
    if v != "PASS": h = v
    res.update({"class": cls, "rfc": v, "hard": h, "detail": "; ".join(bad + detail), "soft": soft})
    if a.verbose or v != "PASS" or h != "PASS":
        res["upstream"] = [x[:1500].decode("latin-1") for x in up["raw"]]
        res["client"] = t["bytes"][:300].decode("latin-1")
    return res


ORDER = ["PASS", "SECURITY", "LENIENT", "STRICT", "WRONG", "HUNG"]


def summary(rs):
    o = {}
    for k in ("rfc", "hard"):
        o[k] = {v: sum(1 for r in rs if r[k] == v) for v in ORDER}
    return o


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--target"); ap.add_argument("--upstream-port", type=int, default=24900)
    ap.add_argument("--tls", action="store_true"); ap.add_argument("--sni", default="localhost")
    ap.add_argument("--cases", default=os.path.join(HERE, "h1_cases.json"))
    ap.add_argument("--only"); ap.add_argument("--group"); ap.add_argument("--json"); ap.add_argument("--timeout", type=float, default=2.0)
    ap.add_argument("--restart", help="shell command that restarts the target if it died")
    ap.add_argument("-v", "--verbose", action="store_true"); ap.add_argument("--table", nargs="+")
    a = ap.parse_args()
    if a.table: return table(a.table)
    cases = [c for c in json.load(open(a.cases)) if (not a.only or re.search(a.only, c["id"])) and (not a.group or c["group"] in a.group.split(","))]
    state = {"case": None, "served": 0}

    def respond(c, r, k):
        cs = state["case"]
        if cs is None or (cs.get("follow") and state["served"] > 0):
            b = b"up %d\n" % rec.n
            c.sendall(b"HTTP/1.1 200 OK\r\nX-Up: %d\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % (rec.n, len(b)) + (b"" if r.method == b"HEAD" else b))
            return
        state["served"] += 1
        try:
            for p in expand(cs["up"]): c.sendall(p); time.sleep(0.01)
        except OSError: pass
        if cs.get("up_close", True):
            time.sleep(0.05); return False
    rec = U.Recorder(a.upstream_port, respond=respond)
    orig = U.Conn.feed
    def feed(self, d):  # early answer for `early` cases: as soon as a head is complete
        out = orig(self, d)
        cs = state["case"]
        if cs and cs.get("early") and not out and self.cur is not None and not self.cur.complete and not getattr(self, "early", False):
            self.early = True; return [self.cur]
        return out
    U.Conn.feed = feed
    rec.start()
    rs = []
    for c in cases:
        r = run_case(a, c, rec, state)
        if r["class"] == "noconnect" and a.restart:
            if rs: rs[-1].update({"class": "crashed", "rfc": "SECURITY", "hard": "SECURITY", "detail": "target died"}); print("SECURITY  SECURITY  %s  target died; restarting" % rs[-1]["id"])
            os.system(a.restart + " >/dev/null 2>&1"); time.sleep(0.5)
            r = run_case(a, c, rec, state)
        rs.append(r)
        if a.verbose or r["hard"] != "PASS":
            print("%-9s %-9s %-24s %-11s st=%s up=%d %s" % (r["rfc"], r["hard"], r["id"], r["class"], r.get("status"), r.get("n_up", 0), r.get("detail", "")[:110]), flush=True)
            if a.verbose and r.get("upstream"): print("    upstream:", [x[:700] for x in r["upstream"]], "\n    client:", repr(r.get("client"))[:300])
    s = summary(rs)
    print("== %s  cases %d   RFC: %s   hardened: %s" % (a.target, len(rs), {k: v for k, v in s["rfc"].items() if v}, {k: v for k, v in s["hard"].items() if v}))
    soft = [r for r in rs if r.get("soft")]
    if soft: print("soft: %d refusals with an unhelpful status (%d of them 5xx for a client's fault)" % (len(soft), sum("blames" in r["soft"] for r in soft)))
    print("%d passed, %d failed" % (s["rfc"]["PASS"], len(rs) - s["rfc"]["PASS"]))
    if a.json:
        json.dump({"target": a.target, "tls": a.tls, "summary": s, "results": rs}, open(a.json, "w"), indent=0)
    sys.exit(0 if s["rfc"]["SECURITY"] == 0 else 1)


def table(files):
    D = {os.path.splitext(os.path.basename(f))[0]: json.load(open(f)) for f in files}
    print("| peer | cases | " + " | ".join("rfc " + v for v in ORDER) + " | hard PASS | hard not PASS |\n|" + "---|" * (len(ORDER) + 4))
    for n, d in D.items():
        s = summary(d["results"]); t = len(d["results"])
        print("| %s | %d | " % (n, t) + " | ".join(str(s["rfc"][v]) for v in ORDER) + " | %d | %d |" % (s["hard"]["PASS"], t - s["hard"]["PASS"]))
    for n, d in D.items():
        print("\n## " + n)
        for v in ORDER[1:]:
            x = [r["id"] for r in d["results"] if r["rfc"] == v]
            if x: print("  %s: %s" % (v, " ".join(x)))
    ids = {}
    for n, d in D.items():
        for r in d["results"]:
            if r["rfc"] != "PASS": ids.setdefault(r["id"], []).append("%s:%s" % (n, r["rfc"]))
    print("\n## failed by most (check the expectation)")
    for k, v in sorted(ids.items(), key=lambda x: -len(x[1])):
        if len(v) >= max(3, len(D) - 2): print("  %-24s %s" % (k, " ".join(v)))


main()
