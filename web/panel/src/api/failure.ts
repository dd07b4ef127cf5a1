import type { components } from "./schema";

export type ErrorBody = components["schemas"]["Error"];

/** A refusal of the interface, or a failure to reach it. */
export class ApiFailure extends Error {
  /** 0 when no answer came. */
  readonly status: number;
  /** Machine key; "network" when no answer came. */
  readonly key: string;
  /** Texts by field of the request. */
  readonly fields: Record<string, string[]>;
  readonly requestId: string | null;
  /** Seconds after which a retry can succeed. */
  readonly retryAfter: number | null;
  /** Further members of the refusal, such as the balance of insufficient_funds. */
  readonly details: Record<string, unknown>;

  constructor(status: number, body: Partial<ErrorBody> & Record<string, unknown>, headers?: Headers) {
    super(typeof body.message === "string" ? body.message : "");
    this.name = "ApiFailure";
    this.status = status;
    this.key = typeof body.error === "string" ? body.error : status === 0 ? "network" : "internal_error";
    this.fields = (body.errors as Record<string, string[]> | undefined) ?? {};
    this.requestId = headers?.get("X-Request-Id") ?? null;
    const after = Number(headers?.get("Retry-After"));
    this.retryAfter = Number.isFinite(after) && after > 0 ? after : null;
    this.details = body;
  }
}

/** Whether an error means only that nobody waits for the answer any more. */
export const isAbort = (error: unknown) => error instanceof DOMException && error.name === "AbortError";
