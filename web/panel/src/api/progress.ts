import { ApiFailure } from "./failure";
import { isForeign, leavePage, pageHeaders } from "./page";
import { session } from "./session";

const expired = new Set(["unauthenticated", "token_expired"]);

/** Posts by XMLHttpRequest: fetch cannot tell how much of a body has gone. */
function post(
  address: string,
  body: FormData | string,
  sent: (bytes: number) => void,
  signal?: AbortSignal,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", address);
    for (const [name, value] of Object.entries(pageHeaders)) request.setRequestHeader(name, value);
    if (typeof body === "string") request.setRequestHeader("Content-Type", "application/json");
    request.upload.addEventListener("progress", (event) => sent(event.loaded));
    request.addEventListener("error", () => reject(new ApiFailure(0, {})));
    request.addEventListener("abort", () => reject(new DOMException("aborted", "AbortError")));
    request.addEventListener("load", () => {
      let answer: Record<string, unknown> = {};
      try {
        answer = JSON.parse(request.responseText) as Record<string, unknown>;
      } catch {
        // a refusal of something before the server, or an answer without a body
      }
      if (request.status >= 200 && request.status < 300) return resolve(answer);
      if (isForeign(request.status, answer.error)) return void leavePage();
      const kept = new Headers();
      for (const name of ["X-Request-Id", "Retry-After"]) {
        const value = request.getResponseHeader(name);
        if (value) kept.set(name, value);
      }
      reject(new ApiFailure(request.status, answer, kept));
    });
    signal?.addEventListener("abort", () => request.abort());
    request.send(body);
  });
}

/**
 * Posts a body and tells how many bytes of it have gone; once more after the person has signed in again. A text is sent as
 * JSON. It answers what the interface answers.
 */
export async function postWithProgress(
  address: string,
  body: FormData | string,
  sent: (bytes: number) => void,
  signal?: AbortSignal,
): Promise<unknown> {
  try {
    return await post(address, body, sent, signal);
  } catch (error) {
    if (!(error instanceof ApiFailure) || error.status !== 401 || !expired.has(error.key)) throw error;
    sent(0);
    await session.passed();
    return post(address, body, sent, signal);
  }
}
