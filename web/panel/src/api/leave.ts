import { isForeign, leavePage, pageHeaders } from "./page";

/**
 * Ends the session, or the visit of a reseller's client, and goes on at `next`. Answers false where it has not ended: then the
 * person is still signed in, and has to be told.
 */
export async function leave(address: "/logout" | "/client/leave", next: string): Promise<boolean> {
  let response: Response;
  try {
    // A redirect is the answer that it has ended; whether the page behind it can be shown does not matter.
    response = await fetch(address, { method: "POST", headers: pageHeaders, redirect: "manual" });
  } catch {
    return false;
  }
  if (response.status === 409) {
    const { error } = (await response.json().catch(() => ({}))) as { error?: string };
    if (isForeign(409, error)) return leavePage();
  }
  if (!response.ok && response.type !== "opaqueredirect") return false;
  location.assign(next);
  return true;
}
