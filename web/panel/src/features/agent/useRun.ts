import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";

import type { ServerEvent } from "~/api/events";
import { isAbort } from "~/api/failure";

import { runEvents, startRun } from "./api";

const last = new Set(["run.completed", "run.failed", "run.cancelled"]);

/** What the events that are read here carry. */
interface Data {
  run?: number;
  text?: string;
}

/** Follows the run of a service that is on its way: what the model writes, and everything that changes with its events. */
export function useRun(service: number, known: number | null) {
  const queries = useQueryClient();
  const [text, setText] = useState("");
  const [following, setFollowing] = useState<number | null>(null);
  const controller = useRef<AbortController | null>(null);
  const refresh = useCallback(
    () => queries.invalidateQueries({ queryKey: ["service", service, "agent"] }),
    [queries, service],
  );

  const read = useCallback(
    async (events: AsyncGenerator<ServerEvent>, started: (run: number) => void = () => {}) => {
      setText("");
      let dirty = false;
      // Events come in bursts; what they change is read once a second at most.
      const timer = setInterval(() => {
        if (dirty) void refresh();
        dirty = false;
      }, 1000);
      try {
        for await (const event of events) {
          const { data = {} } = JSON.parse(event.data || "{}") as { data?: Data };
          if (event.type === "run.started" && data.run) {
            setFollowing(data.run);
            started(data.run);
          } else if (event.type === "message.delta") setText((before) => before + (data.text ?? ""));
          else if (event.type !== "usage") setText(""); // by now it is in the conversation
          if (event.type !== "message.delta") dirty = true;
          if (last.has(event.type)) break;
        }
      } finally {
        clearInterval(timer);
        setFollowing(null);
        await refresh();
        setText("");
        void queries.invalidateQueries({ queryKey: ["ai", "settings"] });
      }
    },
    [queries, refresh],
  );

  const start = useCallback(
    (message: string, conversation: number | null, started: (run: number) => void) => {
      controller.current?.abort();
      const own = new AbortController();
      controller.current = own;
      return read(startRun(service, message, conversation, own.signal), started).finally(() => {
        if (controller.current === own) controller.current = null;
      });
    },
    [read, service],
  );

  // A run that was under way when the page was opened.
  useEffect(() => {
    if (known === null || known === following || controller.current) return;
    const own = new AbortController();
    controller.current = own;
    read(runEvents(service, known, own.signal))
      .catch((error: unknown) => {
        if (!isAbort(error)) void refresh(); // the page looks again by itself
      })
      .finally(() => {
        if (controller.current === own) controller.current = null;
      });
  }, [service, known, following, read, refresh]);
  useEffect(
    () => () => {
      controller.current?.abort(); // leaving stops nothing but the stream
      controller.current = null;
    },
    [],
  );
  return { text, following, start };
}
