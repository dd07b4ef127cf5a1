import { Anchor, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect } from "react";

import { api, call } from "~/api/client";
import { listen, setConnected, type Change, type Message } from "~/api/live";
import { boot } from "~/app/boot";
import { router } from "~/app/router";
import { t } from "~/app/texts";

import { affected, endingOf } from "./affected";
import { claim, forget, lastCursor, remember, whose } from "./memory";

/** What one tab, which holds the connection, tells the others of this browser. */
type Told = { message: Message } | { connected: boolean } | { who: true };

const name = `stead.live${whose}`;

/** Tells this tab of what changes: pages read it again, and what somebody waited for ends in a notice. */
export function Live() {
  const queries = useQueryClient();
  useEffect(() => {
    const ended = new AbortController();
    const channel = new BroadcastChannel(name);
    const hear = (message: Message) => receive(queries, message);
    channel.onmessage = ({ data }: MessageEvent<Told>) => {
      if ("message" in data) hear(data.message);
      else if ("connected" in data) setConnected(data.connected);
      else lead.answer?.();
    };
    const lead: { answer?: () => void } = {};
    const hold = async () => {
      let now = false;
      const tell = (connected: boolean) => {
        now = connected;
        setConnected(connected);
        channel.postMessage({ connected } satisfies Told);
      };
      lead.answer = () => tell(now);
      for (let pause = 1000; !ended.signal.aborted; pause = Math.min(2 * pause, 60_000)) {
        const soon = await listen(lastCursor(), ended.signal, (message) => {
          pause = 1000;
          remember(message.cursor);
          channel.postMessage({ message } satisfies Told);
          hear(message);
          if (message.name === "ready") tell(true);
        });
        if (ended.signal.aborted) return;
        tell(false);
        if (!soon) pause = Math.max(pause, 30_000); // refused: the next call of the page says why
        await sleep(pause, ended.signal);
      }
    };
    // Without locks, on a site without HTTPS, each tab has a connection.
    if ("locks" in navigator) navigator.locks.request(name, { signal: ended.signal }, hold).catch(() => {});
    else void hold();
    channel.postMessage({ who: true } satisfies Told);
    return () => {
      ended.abort();
      channel.close();
      setConnected(false);
    };
  }, [queries]);
  return null;
}

const sleep = (time: number, signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    setTimeout(resolve, time);
    signal.addEventListener("abort", () => resolve());
  });

function receive(queries: QueryClient, { name: what, change }: Message) {
  if (what === "change" && change) {
    for (const filter of affected(change)) void queries.invalidateQueries(filter);
    announce(change);
    return;
  }
  // What has changed without being told, before the connection was there, is read again.
  if (what === "reset") forget();
  void queries.invalidateQueries({ predicate: ({ state }) => state.dataUpdatedAt < Date.now() - 2000 });
}

/** Says that something has ended, once in this browser, in a tab that somebody sees. */
function announce(change: Change) {
  const ending = endingOf(change);
  const service = change.service_id;
  if (!ending || service === null) return;
  if (document.visibilityState !== "visible") {
    document.addEventListener("visibilitychange", () => announce(change), { once: true });
    return;
  }
  if (!claim(change)) return;
  void nameOf(service).then((domain) =>
    notifications.show({
      id: change.id,
      color: ending.good ? "green" : "red",
      autoClose: ending.good ? 8000 : 20_000,
      title: t(ending.text as Parameters<typeof t>[0], { name: domain }),
      message: <Way service={service} page={ending.page} />,
    }),
  );
}

/** The domain of a service; a service without one has its number. */
async function nameOf(service: number) {
  if (boot.client) return boot.client.domain || boot.client.name;
  try {
    const found = await call(api.GET("/api/v1/services/{service}", { params: { path: { service } } }));
    return found.domain || found.label;
  } catch {
    return `#${service}`;
  }
}

/** The link to the page where the person goes on. Notices are drawn outside the router, which the link is given. */
function Way({ service, page }: { service: number; page: string }) {
  const to = boot.client && page === "" ? "/" : `/services/${service}${page}`;
  const href = router.buildLocation({ to } as never).href;
  return (
    <Text size="sm">
      <Anchor
        href={href}
        onClick={(event) => {
          if (event.ctrlKey || event.metaKey || event.shiftKey) return;
          event.preventDefault();
          notifications.clean();
          void router.navigate({ to } as never);
        }}
      >
        {t("live.open")}
      </Anchor>
    </Text>
  );
}
