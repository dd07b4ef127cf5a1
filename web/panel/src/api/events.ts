import { addressOf, send } from "./client";
import { ApiFailure } from "./failure";

export interface ServerEvent {
  id: string;
  /** "message" when the server names none. */
  type: string;
  data: string;
}

/** Reads server-sent events out of a text that comes in pieces (HTML standard, section 9.2.6). */
export function eventParser() {
  let rest = "";
  let id = "";
  let type = "";
  let data: string[] = [];
  return (piece: string): ServerEvent[] => {
    const events: ServerEvent[] = [];
    rest += piece;
    for (;;) {
      const end = /\r\n|\n|\r(?!$)/.exec(rest);
      if (!end) return events;
      const line = rest.slice(0, end.index);
      rest = rest.slice(end.index + end[0].length);
      if (line === "") {
        if (data.length > 0) events.push({ id, type: type || "message", data: data.join("\n") });
        type = "";
        data = [];
        continue;
      }
      const colon = line.indexOf(":");
      if (colon === 0) continue; // a comment: the stream lives
      const field = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
      if (field === "id") id = value;
      else if (field === "event") type = value;
      else if (field === "data") data.push(value);
    }
  };
}

/** Follows an operation that answers with events, until it ends or `signal` says so. With a body it is a POST. */
export async function* follow(
  path: string,
  query: Record<string, string>,
  signal: AbortSignal,
  { lastEventId = "", body }: { lastEventId?: string; body?: unknown } = {},
): AsyncGenerator<ServerEvent> {
  const headers: Record<string, string> = { Accept: "text/event-stream" };
  if (lastEventId) headers["Last-Event-ID"] = lastEventId;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const init: RequestInit =
    body === undefined ? { headers, signal } : { method: "POST", headers, signal, body: JSON.stringify(body) };
  let response: Response;
  try {
    response = await send(new Request(addressOf(path, query), init));
  } catch {
    if (signal.aborted) return;
    throw new ApiFailure(0, {});
  }
  if (!response.ok || !response.body) {
    const refusal = (await response.json().catch(() => ({}))) as Record<string, unknown>;
    throw new ApiFailure(response.status, refusal, response.headers);
  }
  const parse = eventParser();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield* parse(value);
    }
  } catch (error) {
    if (signal.aborted) return;
    throw error instanceof ApiFailure ? error : new ApiFailure(0, {});
  } finally {
    reader.cancel().catch(() => {});
  }
}
