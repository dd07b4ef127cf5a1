import { boot } from "~/app/boot";

import { unsaved } from "./unsaved";

/** What every request says: whom its page was made for. The server refuses it in a session of somebody else. */
export const pageHeaders = { "X-Stead-Panel": boot.holder };

/** Whether the browser's session has become somebody else's, by what another tab did. */
export const isForeign = (status: number, key: unknown) => status === 409 && key === "session_changed";

const mark = "stead.foreign";

/** Whether this page ends its session itself, and goes where it wants to. */
let ending = false;

/** What is still asked meanwhile is refused in the next session, and must not load the page anew instead. */
export function setEnding(value: boolean) {
  ending = value;
}

/**
 * Loads the page anew, for whoever is signed in now: nothing of this one may stay, not even what was typed. What waits for an
 * answer gets none.
 */
export function leavePage(): Promise<never> {
  if (ending) return new Promise<never>(() => {});
  try {
    sessionStorage.setItem(mark, "1");
  } catch {
    // Without storage the new page does not say why it is there.
  }
  unsaved.discard();
  location.reload();
  return new Promise<never>(() => {});
}

/** Whether this page is there because the one before was somebody else's; true once. */
export function wasForeign(): boolean {
  try {
    const was = sessionStorage.getItem(mark) !== null;
    sessionStorage.removeItem(mark);
    return was;
  } catch {
    return false;
  }
}
