import { isForeign, leavePage, pageHeaders, setEnding } from "./page";
import { leaving } from "./session";
import { unsaved } from "./unsaved";

/**
 * Ends the session, or the visit of a reseller's client, and goes on at `next`. Who would lose something is asked first, and may
 * stay. Answers false where the session has not ended although it should: the person is still signed in, and has to be told.
 */
export async function leave(address: "/logout" | "/client/leave", next: string): Promise<boolean> {
  if (unsaved.hasAny() && !(await leaving.passed())) return true;
  setEnding(true);
  const ended = await end(address);
  if (!ended) {
    setEnding(false);
    return false;
  }
  unsaved.discard(); // the browser would ask once more
  location.assign(next);
  return true;
}

async function end(address: string): Promise<boolean> {
  let response: Response;
  try {
    // A redirect is the answer that it has ended; whether the page behind it can be shown does not matter.
    response = await fetch(address, { method: "POST", headers: pageHeaders, redirect: "manual" });
  } catch {
    return false;
  }
  if (response.status === 409) {
    const { error } = (await response.json().catch(() => ({}))) as { error?: string };
    if (isForeign(409, error)) {
      setEnding(false);
      return leavePage();
    }
  }
  return response.ok || response.type === "opaqueredirect";
}
