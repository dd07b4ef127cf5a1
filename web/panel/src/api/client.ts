import createClient from "openapi-fetch";

import { boot } from "~/app/boot";

import { ApiFailure, isAbort, type ErrorBody } from "./failure";
import { isForeign, leavePage, pageHeaders } from "./page";
import type { paths } from "./schema";
import { identity, session } from "./session";

const expired = new Set(["unauthenticated", "token_expired"]);

const questionOf = (status: number, key = "") => {
  if (status === 401 && expired.has(key)) return session;
  return status === 403 && key === "reauthentication_required" ? identity : null;
};

const keyOf = async (refusal: Response) =>
  (
    (await refusal
      .clone()
      .json()
      .catch(() => ({}))) as Partial<ErrorBody>
  ).error;

/** Sends a request of this page. It gets no answer in a session of somebody else: the page is loaded anew. */
async function sendOnce(request: Request): Promise<Response> {
  const response = await fetch(request);
  return response.status === 409 && isForeign(409, await keyOf(response)) ? leavePage() : response;
}

/** Sends a request of this site, and once more after the person has signed in again or has said who they are. */
export async function send(request: Request): Promise<Response> {
  for (const [name, value] of Object.entries(pageHeaders)) request.headers.set(name, value);
  const again = request.clone(); // a used body cannot be sent again
  const response = await sendOnce(request);
  if (response.status !== 401 && response.status !== 403) return response;
  const question = questionOf(response.status, await keyOf(response));
  return question && (await question.passed()) ? sendOnce(again) : response;
}

/** The client of the public interface; its calls go through `call`. */
export const api = createClient<paths>({ baseUrl: boot.base, fetch: send });

interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** Awaits an answer and returns its body, or throws ApiFailure. */
export async function call<T>(answer: Promise<Answer<T>>): Promise<T> {
  let got: Answer<T>;
  try {
    got = await answer;
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new ApiFailure(0, {});
  }
  if (!got.response.ok) {
    const body = typeof got.error === "object" && got.error !== null ? got.error : {};
    throw new ApiFailure(got.response.status, body as Record<string, unknown>, got.response.headers);
  }
  return got.data as T;
}

/** The address of an operation, for links such as downloads. */
export const addressOf = (path: string, query: Record<string, string> = {}) => {
  const search = new URLSearchParams(query).toString();
  return boot.base + path + (search ? `?${search}` : "");
};

/** A key under which an operation takes effect once, however often it is sent. Make one for each intent of a person. */
export const newKey = () => crypto.randomUUID();
