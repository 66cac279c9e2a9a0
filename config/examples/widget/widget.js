// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// A website's chat widget: signs the page in as its app, becomes a guest, calls the API, keeps a WebSocket open.
///
/// The app token is kept for its hour and renewed a little before it ends, or when the gateway says it is over. Nothing is
/// stored: a new page signs in anew, which costs one request.
export class Widget {
  /// Renew this long before the end, in seconds.
  static margin = 60;

  constructor({ gateway, organization, app, api, socket }) {
    Object.assign(this, { gateway, organization, app, api, socketPath: socket });
    this.onstate = this.onmessage = this.onfault = () => {};
    this.token = null;
    this.tokenEnds = 0;
    this.signIns = 0;
    this.signingIn = null;
    this.person = null;
    this.socket = null;
  }

  async start(visitor) {
    try {
      await this.becomeGuest(visitor);
      await this.call("hello");
      await this.open();
    } catch (fault) {
      this.onstate("offline");
      this.onfault(fault.message);
    }
  }

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

  /// Turns the visitor into a guest, who is told apart from others from then on.
  async becomeGuest(visitor) {
    const answer = await this.retried((token) =>
      this.post("/profile/guest/auth", visitor, { Authorization: `Bearer ${token}` }));
    this.person = answer.token;
    return answer.guest;
  }

  /// Calls the API as this app and this person.
  call(path, options = {}) {
    return this.retried((token) => this.request(this.api + path, {
      ...options,
      headers: {
        ...options.headers, orgid: this.organization, Authorization: `Bearer ${token}`,
        "x-client-authorization": `Bearer ${this.person}`,
      },
    }));
  }

  /// Browsers cannot set fields on a WebSocket: the token travels as a sub-protocol, which the gateway takes out again.
  async open() {
    const token = await this.appToken();
    const url = this.gateway.replace(/^http/, "ws") + this.socketPath;
    const socket = new WebSocket(url, ["sallyport.bearer", token]);
    this.socket = socket;
    socket.onopen = () => this.onstate("online");
    socket.onmessage = (event) => this.onmessage(event.data);
    socket.onclose = (event) => this.closed(event.code);
  }

  /// 4401 says that the socket's token is over: it has ended, and a new one opens the next socket, or the app was revoked.
  async closed(code) {
    this.socket = null;
    this.lastClose = code;
    this.onstate("offline");
    if (code !== 4401) return;
    this.token = null;
    try {
      await this.open();
    } catch (fault) {
      this.onfault(`This app is not signed in any more. ${fault.message}`);
    }
  }

  send(text) {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(text);
    return true;
  }

  /// A token that ended on its way, or was revoked and may be had again, is renewed once.
  async retried(action) {
    try {
      return await action(await this.appToken());
    } catch (fault) {
      if (fault.code !== "token_expired" && fault.code !== "app_token_invalid") throw fault;
      this.token = null;
      return action(await this.appToken());
    }
  }

  post(path, body, headers = {}) {
    return this.request(path, {
      method: "POST",
      headers: { ...headers, orgid: this.organization, "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
  }

  /// Answers are JSON; a refusal becomes an error that carries its code, its reason and its sentence.
  async request(path, options) {
    const answer = await fetch(this.gateway + path, options);
    const value = await answer.json().catch(() => ({}));
    if (answer.ok) return value;
    const fault = new Error(value.error?.message ?? value.error ?? value.message ?? `The gateway answered ${answer.status}.`);
    fault.status = answer.status;
    fault.code = value.code ?? value.error?.code;
    fault.reason = value.reason;
    throw fault;
  }
}
