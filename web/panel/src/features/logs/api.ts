import { api, call } from "~/api/client";
import { follow } from "~/api/events";
import type { components } from "~/api/schema";

export type Line = components["schemas"]["LogsLine"];
export type Source = Line["source"];

export const sources: Source[] = ["access", "error", "php", "mail", "cron"];

/** The newest lines of a log, the oldest first, as people read them. */
export async function newest(service: number, type: Source, q: string, signal: AbortSignal): Promise<Line[]> {
  const page = await call(
    api.GET("/api/v1/services/{service}/logs", {
      params: { path: { service }, query: { type, q: q || undefined, limit: 500 } },
      signal,
    }),
  );
  return typeof page === "string" ? [] : [...page.data].reverse(); // a string is the stream, which was not asked for
}

/** Lines as they are written, after the one with this cursor. */
export async function* coming(
  service: number,
  type: Source,
  q: string,
  cursor: string,
  signal: AbortSignal,
): AsyncGenerator<Line> {
  const query = { type, follow: "true", ...(q ? { q } : {}), ...(cursor ? { cursor } : {}) };
  for await (const event of follow(`/api/v1/services/${service}/logs`, query, signal)) {
    yield JSON.parse(event.data) as Line;
  }
}
