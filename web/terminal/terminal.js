// The terminal of a service. The page says in data attributes where it connects to and what it says to people.
import { Terminal } from "@xterm/xterm";
import { FitAddon } from "@xterm/addon-fit";

const nonce = document.currentScript.nonce;

// The page's policy lets in only styles that bear its nonce, and xterm makes its own without.
const create = document.createElement.bind(document);
document.createElement = (name, options) => {
  const element = create(name, options);
  if (String(name).toLowerCase() === "style") {
    element.nonce = nonce;
  }
  return element;
};

const place = document.getElementById("terminal");
const status = document.getElementById("terminal-status");
const again = document.getElementById("terminal-again");
const { base, connecting, open, ended, refused } = place.dataset;

// The code of a connection that ends because its shell cannot be started.
const tryAgainLater = 1013;

const say = (text) => {
  status.textContent = text;
};

const connect = async () => {
  again.hidden = true;
  say(connecting);
  place.replaceChildren();
  const terminal = new Terminal({ cursorBlink: true, fontSize: 14, scrollback: 5000, theme: { background: "#10151c" } });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  terminal.open(place);
  fit.fit();

  const over = (text) => {
    say(text);
    again.hidden = false;
  };
  let ticket;
  try {
    const answer = await fetch(`${base}/ticket`, { method: "POST", redirect: "manual" });
    if (answer.type === "opaqueredirect") {
      // The sign-in is too old by now. The page itself leads there.
      location.reload();
      return;
    }
    const body = await answer.json();
    if (!answer.ok) {
      over(body.message || refused);
      return;
    }
    ticket = body.ticket;
  } catch {
    over(refused); // the network, or something before this site
    return;
  }

  const address = new URL(`${base}/socket`, location.href);
  address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  address.searchParams.set("columns", terminal.cols);
  address.searchParams.set("rows", terminal.rows);
  const socket = new WebSocket(address, ["stead.terminal", `ticket.${ticket}`]);
  socket.binaryType = "arraybuffer";
  let opened = false;
  socket.onopen = () => {
    opened = true;
    say(open);
    terminal.focus();
  };
  socket.onmessage = (event) => terminal.write(new Uint8Array(event.data));
  const encoder = new TextEncoder();
  const send = (data) => {
    if (socket.readyState === WebSocket.OPEN) {
      socket.send(data);
    }
  };
  // In pieces: what is pasted may be larger than a message.
  terminal.onData((text) => {
    const data = encoder.encode(text);
    for (let i = 0; i < data.length; i += 16384) {
      send(data.subarray(i, i + 16384));
    }
  });
  terminal.onBinary((text) => send(Uint8Array.from(text, (c) => c.charCodeAt(0))));
  terminal.onResize(({ cols, rows }) => send(JSON.stringify({ columns: cols, rows })));
  const resized = new ResizeObserver(() => fit.fit());
  resized.observe(place);
  socket.onclose = ({ code }) => {
    resized.disconnect();
    terminal.options.disableStdin = true;
    over(opened && code !== tryAgainLater ? ended : refused);
  };
};

again.addEventListener("click", connect);
connect();
