import { ActionIcon, NavLink } from "@mantine/core";
import { IconHelp, IconSearch } from "@tabler/icons-react";
import { useParams } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useSyncExternalStore } from "react";

import { boot } from "./boot";
import { accountPages, profilePages, servicePages } from "./navigation";
import { t } from "./texts";

const Palette = lazy(() => import("~/features/help/Palette").then((file) => ({ default: file.Palette })));
const HelpDrawer = lazy(() => import("~/features/help/HelpDrawer").then((file) => ({ default: file.HelpDrawer })));

/** What the person has asked for: each number is one opening of the palette or of the drawer; 0 is none yet. */
let asked = { palette: 0, drawer: 0, question: "" };
const listeners = new Set<() => void>();

const set = (next: Partial<typeof asked>) => {
  asked = { ...asked, ...next };
  listeners.forEach((listener) => listener());
};

const openPalette = () => set({ palette: asked.palette + 1 });

/** Opens the drawer, and asks the assistant a question at once when there is one. */
const openHelp = (question = "") => set({ drawer: asked.drawer + 1, question });

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

const mac = /Mac|iP(hone|ad)/.test(navigator.userAgent);

const pages = { accountPages: [...accountPages, ...profilePages], servicePages };

/** Ctrl-K, or ⌘K: everywhere but in a terminal, whose shell knows that key. */
const isShortcut = (event: KeyboardEvent) =>
  event.code === "KeyK" &&
  (mac ? event.metaKey : event.ctrlKey) &&
  !event.altKey &&
  !event.shiftKey &&
  !(event.target instanceof Element && event.target.closest(".xterm"));

/** The buttons of the head, and what they open. A reseller's client has no help of ours. */
export function Help() {
  const { palette, drawer, question } = useSyncExternalStore(subscribe, () => asked);
  const params = useParams({ strict: false }) as { service?: string };
  useEffect(() => {
    const open = (event: KeyboardEvent) => {
      if (!isShortcut(event)) return;
      event.preventDefault();
      openPalette();
    };
    addEventListener("keydown", open, { capture: true });
    return () => removeEventListener("keydown", open, { capture: true });
  }, []);
  return (
    <>
      <ActionIcon
        variant="subtle"
        color="gray"
        size="lg"
        visibleFrom="sm"
        onClick={openPalette}
        aria-label={t("search")}
        aria-keyshortcuts={mac ? "Meta+K" : "Control+K"}
        title={`${t("search")} (${mac ? "⌘K" : "Ctrl-K"})`}
      >
        <IconSearch size={18} aria-hidden />
      </ActionIcon>
      {!boot.client && (
        <ActionIcon variant="subtle" color="gray" size="lg" onClick={() => openHelp()} aria-label={t("help")}>
          <IconHelp size={20} aria-hidden />
        </ActionIcon>
      )}
      <Suspense>
        {palette > 0 && <Palette opening={palette} pages={pages} label={t} service={params.service} onAsk={openHelp} />}
        {drawer > 0 && <HelpDrawer key={drawer} question={question} service={params.service} />}
      </Suspense>
    </>
  );
}

/** The search as an entry of the menu, for phones. */
export function SearchEntry() {
  return (
    <NavLink
      component="button"
      hiddenFrom="sm"
      label={t("search")}
      leftSection={<IconSearch size={18} aria-hidden />}
      onClick={openPalette}
    />
  );
}
