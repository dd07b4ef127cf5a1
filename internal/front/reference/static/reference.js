// What scripts add to the reference: the search, and calls from the page. The token is kept by the tab alone.
(() => {
  "use strict";
  const byId = (id) => document.getElementById(id);
  for (const part of document.querySelectorAll("search, .token, .try")) part.hidden = false;

  const search = byId("search");
  if (search) {
    const entries = [...document.querySelectorAll("[data-text]")].map((at) => ({ at, text: at.dataset.text.toLowerCase() }));
    const find = () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      let found = 0;
      for (const { at, text } of entries) {
        at.hidden = !words.every((word) => text.includes(word));
        found += at.hidden ? 0 : 1;
      }
      for (const group of document.querySelectorAll(".group")) group.hidden = !group.querySelector("[data-text]:not([hidden])");
      byId("found").textContent = words.length ? `${found} of ${entries.length} operations` : "";
    };
    search.addEventListener("input", find);
    document.addEventListener("keydown", (event) => {
      if (event.key === "/" && !event.target.closest("input, textarea")) {
        event.preventDefault();
        search.focus();
      }
    });
    find(); // browsers keep what was typed
  }

  const token = byId("token");
  const state = byId("tokenstate");
  const keep = (value) => {
    token.value = value;
    if (value) sessionStorage.setItem("reference.token", value);
    else sessionStorage.removeItem("reference.token");
  };
  token.value = sessionStorage.getItem("reference.token") || "";
  token.addEventListener("change", () => keep(token.value.trim()));

  // Signing in: the authorization-code flow with PKCE. The page is its own redirect address.
  const client = document.body.dataset.client;
  const redirect = `${location.origin}/docs/`;
  const base64url = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  const random = () => base64url(crypto.getRandomValues(new Uint8Array(32)));
  const form = (values) => ({ method: "POST", body: new URLSearchParams(values) });
  byId("signin").addEventListener("click", async () => {
    const verifier = random();
    const asked = { verifier, state: random(), back: location.pathname + location.hash };
    const challenge = base64url(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier)));
    sessionStorage.setItem("reference.asked", JSON.stringify(asked));
    location.assign(`/oauth/authorize?${new URLSearchParams({
      response_type: "code", client_id: client, redirect_uri: redirect, state: asked.state, code_challenge: challenge, code_challenge_method: "S256",
      scope: "profile services:read services:write orders:read orders:write wallet:read wallet:write domains:read domains:write monitors:read monitors:write ai:read ai:write",
    })}`);
  });
  byId("forget").addEventListener("click", async () => {
    if (token.value.startsWith("sta_")) await fetch("/oauth/revoke", form({ client_id: client, token: token.value }));
    keep("");
    state.textContent = "Forgotten.";
  });
  const came = new URLSearchParams(location.search);
  if (came.has("state")) {
    const asked = JSON.parse(sessionStorage.getItem("reference.asked") || "null");
    sessionStorage.removeItem("reference.asked");
    history.replaceState(null, "", "/docs/");
    document.querySelector(".token").open = true;
    if (!asked || asked.state !== came.get("state") || !came.has("code")) {
      state.textContent = `No token: ${came.get("error") || "this sign-in was not begun here"}.`;
    } else {
      fetch("/oauth/token", form({
        grant_type: "authorization_code", client_id: client, redirect_uri: redirect, code: came.get("code"), code_verifier: asked.verifier,
      })).then((res) => res.json()).then((answer) => {
        if (!answer.access_token) throw new Error(answer.error_description || answer.message);
        keep(answer.access_token);
        if (asked.back !== "/docs/") location.replace(asked.back);
        state.textContent = "Signed in.";
      }).catch((error) => { state.textContent = `No token: ${error.message}`; });
    }
  }

  for (const at of document.querySelectorAll(".try form")) {
    at.addEventListener("submit", async (event) => {
      event.preventDefault();
      const output = at.querySelector("[role=status]");
      let path = at.dataset.path;
      const query = new URLSearchParams();
      const headers = {};
      if (token.value) headers.Authorization = `Bearer ${token.value.trim()}`;
      for (const input of at.querySelectorAll("input")) {
        if (!input.value) continue;
        if (input.dataset.in === "path") path = path.replace(`{${input.name}}`, encodeURIComponent(input.value));
        else if (input.dataset.in === "query") query.set(input.name, input.value);
        else headers[input.name] = input.value;
      }
      const body = at.querySelector("textarea");
      if (body) headers["Content-Type"] = "application/json";
      const shown = document.createElement("pre");
      shown.tabIndex = 0;
      output.replaceChildren("Sending …");
      try {
        const res = await fetch(path + (query.size ? `?${query}` : ""), { method: at.dataset.method, headers, body: body ? body.value : undefined });
        const type = res.headers.get("Content-Type") || "";
        let text = /json|text|xml/.test(type) ? await res.text() : `(${type || "no content"})`;
        if (type.includes("json")) text = JSON.stringify(JSON.parse(text), null, 2);
        shown.textContent = text.slice(0, 100000);
        output.replaceChildren(`${res.status} ${res.statusText}`, shown);
      } catch (error) {
        output.replaceChildren(`Not sent: ${error.message}`);
      }
    });
  }
})();
