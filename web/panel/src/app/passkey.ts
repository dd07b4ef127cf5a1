import { api, call } from "~/api/client";
import { ApiFailure } from "~/api/failure";
import { isForeign, leavePage, pageHeaders } from "~/api/page";

/** The answer to such a request gives the browser another cookie, so it is no operation of the interface. */
export async function confirm<T>(path: string, body: unknown): Promise<T> {
  let response: Response;
  try {
    response = await fetch(`/panel/confirm${path}`, {
      method: "POST",
      headers: { ...pageHeaders, "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
  } catch {
    throw new ApiFailure(0, {});
  }
  const answer = (await response.json().catch(() => ({}))) as Record<string, unknown>;
  if (isForeign(response.status, answer.error)) return leavePage();
  if (!response.ok) throw new ApiFailure(response.status, answer, response.headers);
  return answer as T;
}

/** Whether the owner has a passkey that works in this browser, at this address. */
export async function hasPasskey(signal: AbortSignal): Promise<boolean> {
  const able = "PublicKeyCredential" in window && "parseRequestOptionsFromJSON" in PublicKeyCredential;
  if (!able) return false;
  const { passkeys, passkey_origin } = await call(api.GET("/api/v1/me/security", { signal }));
  return passkeys.length > 0 && passkey_origin === location.origin;
}

/** Proves by a passkey who sits in front of the browser. Answers false when the person changed their mind. */
export async function proveByPasskey(): Promise<boolean> {
  const { publicKey } = await confirm<{ publicKey: PublicKeyCredentialRequestOptionsJSON }>("/passkey/options", {});
  let got: Credential | null;
  try {
    got = await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(publicKey) });
  } catch (error) {
    if (error instanceof DOMException && (error.name === "NotAllowedError" || error.name === "AbortError"))
      return false;
    throw error;
  }
  await confirm("/passkey", { credential: (got as PublicKeyCredential).toJSON() as unknown });
  return true;
}
