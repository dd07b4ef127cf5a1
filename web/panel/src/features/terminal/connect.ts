import "@xterm/xterm/css/xterm.css";

import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";

import { send } from "~/api/client";
import { ApiFailure } from "~/api/failure";
import { boot, nonce } from "~/app/boot";

export type State = "connecting" | "open" | "ended" | "refused";

/** The code of a connection that ends because its shell cannot be started. */
const tryAgainLater = 1013;
/** The largest message that the server accepts is 64 KB; what is pasted may be larger. */
const piece = 16 << 10;

/** Asks for a ticket, which opens one terminal within seconds. */
async function ticketOf(base: string): Promise<string> {
  let answer: Response;
  try {
    answer = await send(new Request(`${base}/ticket`, { method: "POST" }));
  } catch {
    throw new ApiFailure(0, {});
  }
  const body = (await answer.json().catch(() => ({}))) as Record<string, unknown>;
  if (!answer.ok) throw new ApiFailure(answer.status, body, answer.headers);
  return String(body.ticket);
}

const isLeaving = (event: KeyboardEvent) =>
  event.key === "F6" && event.ctrlKey && !event.altKey && !event.shiftKey && !event.metaKey;

/** xterm makes style elements of its own, which the page's policy lets in only with the nonce. */
function withNonce(): () => void {
  const create = document.createElement;
  document.createElement = function (this: Document, name: string, options?: ElementCreationOptions) {
    const element = create.call(this, name, options);
    if (name.toLowerCase() === "style") (element as HTMLStyleElement).nonce = nonce;
    return element;
  } as typeof document.createElement;
  return () => {
    document.createElement = create;
  };
}

/** Opens a terminal in an element, and answers what closes it. */
export function connect(
  place: HTMLElement,
  service: number,
  options: {
    label: string;
    /** The element that explains how a keyboard leaves the terminal. */
    describedBy: string;
    reader: boolean;
    onState: (state: State, error?: unknown) => void;
    onLeave: () => void;
  },
): () => void {
  const restore = withNonce();
  const terminal = new Terminal({
    cursorBlink: true,
    fontSize: 14,
    scrollback: 5000,
    screenReaderMode: options.reader,
    theme: { background: "#10151c" },
  });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  terminal.open(place);
  terminal.textarea?.setAttribute("aria-label", options.label);
  terminal.textarea?.setAttribute("aria-describedby", options.describedBy);
  // Tab belongs to the shell: another key leads out.
  terminal.attachCustomKeyEventHandler((event) => {
    if (!isLeaving(event)) return true;
    event.preventDefault();
    if (event.type === "keydown") options.onLeave();
    return false;
  });
  fit.fit();
  let socket: WebSocket | null = null;
  let closed = false;
  const resized = new ResizeObserver(() => fit.fit());
  resized.observe(place);

  const start = async () => {
    options.onState("connecting");
    const base = `${boot.base}/services/${service}/terminal`;
    const ticket = await ticketOf(base);
    if (closed) return;
    const address = new URL(`${base}/socket`, location.href);
    address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    address.searchParams.set("columns", String(terminal.cols));
    address.searchParams.set("rows", String(terminal.rows));
    const connection = new WebSocket(address, ["stead.terminal", `ticket.${ticket}`]);
    socket = connection;
    connection.binaryType = "arraybuffer";
    let opened = false;
    connection.onopen = () => {
      opened = true;
      options.onState("open");
      terminal.focus();
    };
    connection.onmessage = (event: MessageEvent<ArrayBuffer>) => terminal.write(new Uint8Array(event.data));
    const send = (data: string | Uint8Array<ArrayBuffer>) => {
      if (connection.readyState === WebSocket.OPEN) connection.send(data);
    };
    const encoder = new TextEncoder();
    terminal.onData((text) => {
      const data = encoder.encode(text);
      for (let at = 0; at < data.length; at += piece) send(data.slice(at, at + piece));
    });
    terminal.onBinary((text) => send(Uint8Array.from(text, (character) => character.charCodeAt(0))));
    terminal.onResize(({ cols, rows }) => send(JSON.stringify({ columns: cols, rows })));
    connection.onclose = ({ code }) => {
      terminal.options.disableStdin = true;
      if (!closed) options.onState(opened && code !== tryAgainLater ? "ended" : "refused");
    };
  };
  start().catch((error: unknown) => {
    if (!closed) options.onState("refused", error);
  });
  return () => {
    closed = true;
    resized.disconnect();
    socket?.close();
    terminal.dispose();
    restore();
  };
}
