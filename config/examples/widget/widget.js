// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// A website's chat widget: signs the page in as its app, becomes a guest, calls the API, keeps a WebSocket open.
///
/// The app token is kept in memory for its hour and renewed a little before it ends, or when the gateway says it is over.
/// Nothing is stored: a new page signs in anew, which costs one request. What fails for now is tried again after a pause;
/// what is refused is not.
export class Widget {
  /// Renew this long before the end, in seconds.
  static margin = 60;
  /// So long may one answer take, in seconds.
  static patience = 15;
  /// The pauses between tries double from the first to the longest, in seconds.
  static firstPause = 1;
  static longestPause = 60;

  constructor({ gateway, organization, app, api, socket }) {
    Object.assign(this, { gateway, organization, app, api, socketPath: socket });
    this.onstate = this.onmessage = this.onfault = () => {};
    this.visitor = null;
    this.token = this.tokenEnds = this.signingIn = null;
    this.person = this.becoming = null;
    this.socket = this.opening = null;
    this.renewal = this.retry = null;
    this.signIns = this.failures = 0;
  }

  /// Tells of `online` and `offline`, messages, and what the visitor should read, through the three functions above.
  async start(visitor) {
    this.visitor = visitor;
    await this.connect();
  }

  /// Ends it: nothing is tried again.
  stop() {
    clearTimeout(this.renewal);
    clearTimeout(this.retry);
    const socket = this.socket;
    this.socket = this.opening = null;
    socket?.close(1000);
    this.onstate("offline");
  }

  send(text) {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(text);
    return true;
  }

  /// Calls the API as this app and this person.
  call(path, options = {}) {
    return this.retried(async () => this.request(this.api + path, {
      ...options,
      headers: {
        ...options.headers, orgid: this.organization, Authorization: `Bearer ${await this.appToken()}`,
        "x-client-authorization": `Bearer ${await this.guest()}`,
      },
    }));
  }

  // -- signing in -----------------------------------------------------------

  /// The app token; many callers that need a new one share one sign-in.
  async appToken() {
    if (this.token && Date.now() < this.tokenEnds) return this.token;
    this.signingIn ??= this.signIn().finally(() => { this.signingIn = null; });
    return this.signingIn;
  }

  async signIn() {
    const answer = await this.post("/profile/app/attest", {
      appId: this.app, platform: "web", domain: location.host,
    });
    this.signIns += 1;
    this.token = answer.token;
    const margin = Math.min(Widget.margin, answer.expiresIn / 10);
    this.tokenEnds = Date.now() + (answer.expiresIn - margin) * 1000;
    return this.token;
  }

  /// The token of the visitor, who is a guest from the first need of it on and told apart from others.
  async guest() {
    if (this.person) return this.person;
    this.becoming ??= this.becomeGuest().finally(() => { this.becoming = null; });
    return this.becoming;
  }

  async becomeGuest() {
    const answer = await this.retried(async () =>
      this.post("/profile/guest/auth", this.visitor, { Authorization: `Bearer ${await this.appToken()}` }));
    this.person = answer.token;
    return this.person;
  }

  /// A token that ended on its way, or was revoked and may be had again, is renewed once.
  async retried(action) {
    try {
      return await action();
    } catch (fault) {
      if (["token_expired", "app_token_invalid"].includes(fault.code)) this.token = null;
      else if (fault.code === "person_token_invalid") this.person = null;
      else throw fault;
      return action();
    }
  }

  // -- the socket -----------------------------------------------------------

  /// Opens the socket, the next one beside the present one; tries again later where it cannot be had now.
  async connect() {
    clearTimeout(this.renewal);
    clearTimeout(this.retry);
    try {
      await this.guest();
      this.open(await this.appToken());
    } catch (fault) {
      this.failed(fault);
    }
  }

  /// Browsers cannot set fields on a WebSocket: the token travels as a sub-protocol, which the gateway takes out again.
  open(token) {
    const socket = new WebSocket(this.gateway.replace(/^http/, "ws") + this.socketPath, ["sallyport.bearer", token]);
    this.opening = socket;
    socket.onopen = () => this.opened(socket);
    socket.onmessage = (event) => this.onmessage(event.data);
    socket.onclose = (event) => this.closed(socket, event.code);
  }

  opened(socket) {
    if (socket !== this.opening) return socket.close(1000);
    const former = this.socket;
    [this.socket, this.opening, this.openedAt] = [socket, null, Date.now()];
    former?.close(1000);
    // Before the token ends another socket takes over, so that nothing is lost between the two.
    this.renewal = setTimeout(() => this.connect(), this.tokenEnds - Date.now());
    this.onstate("online");
  }

  /// 4401 says that the socket's token is over: it has ended, and a new one opens the next socket, or the app was revoked.
  closed(socket, code) {
    if (socket !== this.socket && socket !== this.opening) return;
    this.lastClose = code;
    if (code === 4401) this.token = null;
    if (socket === this.opening) this.opening = null;
    if (socket === this.socket) {
      this.socket = null;
      this.onstate("offline");
      if (Date.now() - this.openedAt > Widget.longestPause * 1000) this.failures = 0;
    }
    if (!this.opening) this.again();
  }

  /// Another try after a pause that doubles, and is not the same for all pages that lost the gateway together.
  again(least = 0) {
    const pause = Math.min(Widget.longestPause, Widget.firstPause * 2 ** this.failures) * (0.5 + Math.random() / 2);
    this.failures += 1;
    clearTimeout(this.retry);
    this.retry = setTimeout(() => this.connect(), Math.max(pause, least) * 1000);
  }

  /// The visitor reads a sentence without details; why it is so stands in the console, for the owner of the website.
  failed(fault) {
    this.lastFault = fault;
    console.error(`Chat: ${[fault.code, fault.reason].filter(Boolean).join(", ") || "no answer"}: ${fault.message}`);
    if (fault.isForNow) {
      if (this.failures === 0) this.onfault("The chat cannot be reached at the moment. It is tried again.");
      if (!this.socket) this.onstate("offline");
      return this.again(fault.retryAfter);
    }
    const wasIn = this.openedAt !== undefined;
    this.stop();
    this.onfault(wasIn ? "This chat has ended. Please contact us another way."
      : "Live chat isn't set up for this website yet. Please contact us another way.");
  }

  // -- requests -------------------------------------------------------------

  post(path, body, headers = {}) {
    return this.request(path, {
      method: "POST",
      headers: { ...headers, orgid: this.organization, "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
  }

  /// Answers are JSON; a refusal becomes an error that carries its code, its reason and its sentence.
  async request(path, options) {
    let answer;
    try {
      answer = await fetch(this.gateway + path, { signal: AbortSignal.timeout(Widget.patience * 1000), ...options });
    } catch (cause) {
      throw Object.assign(new Error("The gateway does not answer.", { cause }), { isForNow: true });
    }
    const value = await answer.json().catch(() => ({}));
    if (answer.ok) return value;
    throw Object.assign(new Error(value.error?.message ?? value.error ?? value.message ?? `The gateway answered ${answer.status}.`), {
      status: answer.status,
      code: value.code ?? value.error?.code,
      reason: value.reason,
      isForNow: answer.status === 429 || answer.status >= 500,
      retryAfter: Number(answer.headers.get("Retry-After")) || 0,
    });
  }
}
