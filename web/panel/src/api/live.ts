import { boot } from "~/app/boot";

import { eventParser } from "./events";
import { isForeign, leavePage, pageHeaders } from "./page";

/** What has changed, as the stream of the account's events tells it. */
export interface Change {
  id: string;
  type: string;
  service_id: number | null;
  object_id: number | null;
  status: string | null;
  kind: string | null;
  at: string;
}

export interface Message {
  /** "ready": from now on nothing is left out; "reset": too much has happened to tell it. */
  name: "ready" | "reset" | "change";
  change?: Change;
  /** From where to go on. */
  cursor: string;
}

let connected = false;

/** Whether this tab is told of changes at this moment. */
export const isConnected = () => connected;
export const setConnected = (now: boolean) => {
  connected = now;
};

/** How often to look at what is on its way: seldom while the stream tells of its end, else every few seconds. */
export const pace = (seldom = 20_000) => (connected ? seldom : 3000);

/** No sign of life for so long means that the connection is lost; the server gives one every 15 seconds. */
const silence = 40_000;

/** Reads the stream once, until it ends. Answers whether it is of use to come again soon. */
export async function listen(cursor: string, signal: AbortSignal, hear: (message: Message) => void): Promise<boolean> {
  const path = boot.client ? `/api/v1/services/${boot.client.service}/events` : "/api/v1/events/stream";
  const headers: Record<string, string> = { Accept: "text/event-stream", ...pageHeaders };
  if (cursor) headers["Last-Event-ID"] = cursor;
  const lost = new AbortController();
  const end = () => lost.abort();
  signal.addEventListener("abort", end);
  let timer = setTimeout(end, silence);
  try {
    const response = await fetch(boot.base + path, { headers, signal: lost.signal });
    if (!response.ok || !response.body) {
      const refusal = (await response.json().catch(() => ({}))) as { error?: string };
      return isForeign(response.status, refusal.error) ? await leavePage() : response.status >= 500;
    }
    const parse = eventParser();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return true;
      clearTimeout(timer);
      timer = setTimeout(end, silence);
      for (const { id, type, data } of parse(value)) {
        if (type === "change") hear({ name: type, change: JSON.parse(data) as Change, cursor: id });
        else if (type === "ready" || type === "reset") hear({ name: type, cursor: id });
      }
    }
  } catch {
    return true; // the network, or silence
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
  }
}
