import { useSyncExternalStore } from "react";

/** Whether this window has uploaded anything: the tray is loaded only then. */
let begun = false;
const listeners = new Set<() => void>();

export function begin() {
  if (begun) return;
  begun = true;
  listeners.forEach((listener) => listener());
}

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

export const useBegun = () => useSyncExternalStore(subscribe, () => begun);
