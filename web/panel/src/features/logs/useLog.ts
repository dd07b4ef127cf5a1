import { useEffect, useState } from "react";

import { ApiFailure } from "~/api/failure";

import { coming, newest, type Line, type Source } from "./api";

/** The page keeps the newest lines; older ones leave it. */
const mostLines = 10_000;

export const keep = (lines: Line[], more: Line[]) => [...lines, ...more].slice(-mostLines);

interface Log {
  lines: Line[];
  state: "loading" | "live" | "lost" | "failed";
  error: unknown;
}

const wait = (milliseconds: number, signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()));
  });

/** The lines of a log, and those that are written while the page is open. A lost connection is taken up again. */
export function useLog(service: number, type: Source, q: string, attempt: number): Log {
  const [log, setLog] = useState<Log>({ lines: [], state: "loading", error: null });
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    let pending: Line[] = [];
    // A busy site writes hundreds of lines a second: they are drawn together.
    const timer = setInterval(() => {
      if (pending.length === 0) return;
      const more = pending;
      pending = [];
      setLog((before) => ({ ...before, lines: keep(before.lines, more) }));
    }, 250);
    const run = async () => {
      setLog({ lines: [], state: "loading", error: null });
      const lines = await newest(service, type, q, signal);
      let cursor = lines.at(-1)?.cursor ?? "";
      setLog({ lines, state: "live", error: null });
      for (let failures = 0; !signal.aborted;) {
        try {
          for await (const line of coming(service, type, q, cursor, signal)) {
            if (failures > 0) setLog((before) => ({ ...before, state: "live" }));
            failures = 0;
            cursor = line.cursor;
            pending.push(line);
          }
          await wait(1000, signal); // the stream ends after an hour
        } catch (error) {
          if (error instanceof ApiFailure && error.status >= 400 && error.status < 500 && error.status !== 429) {
            throw error;
          }
          failures++;
          setLog((before) => ({ ...before, state: "lost" }));
          await wait(Math.min(30_000, 1000 * 2 ** failures), signal);
        }
      }
    };
    run().catch((error: unknown) => {
      if (!signal.aborted) setLog((before) => ({ ...before, state: "failed", error }));
    });
    return () => {
      controller.abort();
      clearInterval(timer);
    };
  }, [service, type, q, attempt]);
  return log;
}
