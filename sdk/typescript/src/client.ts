import { SteadError } from "./errors.js";

/** The version of the SDK. */
export const version = "0.1.0";

/** Gives access tokens; refresh replaces one that the server no longer takes. */
export interface TokenSource {
	token(): Promise<string>;
	refresh?(expired: string): Promise<void>;
}

export interface ClientOptions {
	/** Address of the server, such as https://my.example.com. In a browser on that server it may be left out. */
	baseURL?: string;
	/** An access token, or a source of them. */
	token?: string | TokenSource;
	/** How often a call is tried again; 4 by default. */
	retries?: number;
	/** Language of messages and texts. */
	language?: "uz" | "ru" | "en";
	/** Replaces the global fetch. */
	fetch?: typeof globalThis.fetch;
}

export interface CallOptions {
	/** Ends the call. */
	signal?: AbortSignal;
	/** Names the intention of a call that moves money, so that a later call with the same key does not repeat it. */
	idempotencyKey?: string;
	/** More headers, such as If-Match. */
	headers?: Record<string, string>;
}

/** A file that is uploaded. */
export interface Upload {
	name: string;
	content: Blob;
}

/** A server-sent event. */
export interface ServerEvent {
	id: string;
	type: string;
	data: unknown;
}

interface Request {
	method: string;
	path: string;
	query?: Record<string, unknown>;
	body?: unknown;
	content?: Blob | Uint8Array<ArrayBuffer>;
	files?: Upload[];
	keyed?: boolean;
	accept?: string;
	options: CallOptions;
}

interface Page {
	data: unknown[];
	meta: { last_page: number };
}

const firstDelay = 500;
const longestDelay = 8_000;
/** Beyond it a refusal with Retry-After is thrown instead of waited for, in milliseconds. */
const longestWait = 60_000;

/** Sends the requests of all methods. */
export class Caller {
	readonly #base: string;
	readonly #token: TokenSource | undefined;
	readonly #retries: number;
	readonly #language: string | undefined;
	readonly #fetch: typeof globalThis.fetch;
	/** Waits; replaced by tests. */
	sleep: (ms: number, signal?: AbortSignal) => Promise<void> = sleep;

	constructor(options: ClientOptions) {
		this.#base = (options.baseURL ?? (typeof location === "undefined" ? "" : location.origin)).replace(/\/+$/, "");
		if (!/^https?:\/\/[^/?#]+[^?#]*$/.test(this.#base)) {
			throw new TypeError(`${JSON.stringify(options.baseURL)} is no address of a server, such as https://my.example.com`);
		}
		const token = options.token;
		this.#token = typeof token === "string" ? { token: () => Promise.resolve(token) } : token;
		this.#retries = options.retries ?? 4;
		this.#language = options.language;
		this.#fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
	}

	/** Sends a request and decodes its answer. */
	async call<T>(request: Request): Promise<T> {
		const response = await this.#do(request);
		const text = await response.text();
		return (text === "" ? undefined : JSON.parse(text)) as T;
	}

	/** Sends a request and returns the response as it is. */
	download(request: Request): Promise<Response> {
		return this.#do({ accept: "*/*", ...request });
	}

	/** Yields the items of all pages from the query's page on. */
	async *pages<T>(request: Request): AsyncGenerator<T, void> {
		for (let page = Number(request.query?.["page"] ?? 1); ; page++) {
			const list = await this.call<Page>({ ...request, query: { ...request.query, page } });
			yield* list.data as T[];
			if (page >= list.meta.last_page) return;
		}
	}

	/** Yields the events of a stream. One that breaks off is continued behind the last event that was read. */
	async *events(request: Request): AsyncGenerator<ServerEvent, void> {
		let last = "";
		for (let failures = 0; ; failures++) {
			const headers = last === "" ? {} : { "Last-Event-ID": last };
			const response = await this.#do({
				...request,
				accept: "text/event-stream",
				options: { ...request.options, headers: { ...request.options.headers, ...headers } },
			});
			try {
				for await (const event of readEvents(response)) {
					failures = 0;
					if (event.id !== "") last = event.id;
					yield event;
				}
				return;
			} catch (error) {
				// What begins something, such as a run, is not begun again; without an id there is nowhere to continue.
				const again = error instanceof BrokenOff && last !== "" && request.method === "GET" && failures < this.#retries;
				if (!again || request.options.signal?.aborted) throw error instanceof BrokenOff ? error.cause : error;
			}
			await this.sleep(jitter(Math.min(longestDelay, firstDelay * 2 ** failures)), request.options.signal);
		}
	}

	/** Sends a request until it succeeds, is refused, or its tries are used up. */
	async #do(request: Request): Promise<Response> {
		const key = request.options.idempotencyKey ?? (request.keyed ? crypto.randomUUID() : undefined);
		let uncertain = false; // an earlier try may have been done
		let renewed = false;
		for (let attempt = 0; ; attempt++) {
			const token = await this.#token?.token();
			let failure: unknown;
			let refusal: SteadError | undefined;
			try {
				const response = await this.#send(request, key, token);
				if (response.ok) return response;
				failure = refusal = await SteadError.read(response);
			} catch (error) {
				if (request.options.signal?.aborted) throw error;
				failure = error;
			}
			if (refusal?.status === 404 && request.method === "DELETE" && uncertain) {
				return new Response(null, { status: 204 }); // what an earlier try has deleted is gone
			}
			if (refusal?.status === 401 && !renewed && token !== undefined && this.#token?.refresh) {
				renewed = true;
				await this.#token.refresh(token);
				continue;
			}
			const delay = this.#next(request, key, refusal, attempt);
			if (delay === undefined) throw failure;
			uncertain ||= refusal === undefined || refusal.status >= 500;
			await this.sleep(delay, request.options.signal);
		}
	}

	#send(request: Request, key: string | undefined, token: string | undefined): Promise<Response> {
		const url = new URL(this.#base + request.path);
		for (const [name, value] of Object.entries(request.query ?? {})) {
			if (value !== undefined && value !== null) {
				url.searchParams.set(name, Array.isArray(value) ? value.join(",") : String(value));
			}
		}
		if (this.#language !== undefined) url.searchParams.set("lang", this.#language);
		const headers = new Headers({ Accept: request.accept ?? "application/json" });
		if (token !== undefined) headers.set("Authorization", `Bearer ${token}`);
		if (key !== undefined) headers.set("Idempotency-Key", key);
		let body: BodyInit | null = null;
		if (request.files) {
			const form = new FormData();
			for (const f of request.files) form.append("file", f.content, f.name);
			body = form;
		} else if (request.content) {
			headers.set("Content-Type", "application/octet-stream");
			body = request.content;
		} else if (request.body !== undefined) {
			headers.set("Content-Type", "application/json");
			body = JSON.stringify(request.body);
		}
		for (const [name, value] of Object.entries(request.options.headers ?? {})) headers.set(name, value);
		return this.#fetch(url, {
			method: request.method,
			headers,
			body,
			signal: request.options.signal ?? null,
			// A redirect of the API is an error of the address; following it would send the token elsewhere.
			redirect: "error",
			credentials: "omit",
		});
	}

	/** Returns after how many milliseconds a failed try is followed by another; undefined for never. */
	#next(request: Request, key: string | undefined, refusal: SteadError | undefined, attempt: number): number | undefined {
		if (attempt >= this.#retries) return undefined;
		const given = request.options.headers ?? {};
		// With If-Match or If-None-Match a try that was done would refuse its own repetition.
		const conditional = Object.keys(given).some((n) => ["if-match", "if-none-match"].includes(n.toLowerCase()));
		const safe = (request.method !== "POST" || key !== undefined) && !conditional;
		const again =
			refusal === undefined || [500, 502, 504].includes(refusal.status)
				? safe
				: refusal.status === 503
					? safe || ["panel_busy", "maintenance"].includes(refusal.key) // refused before it began
					: refusal.status === 429 || refusal.key === "idempotency_in_progress";
		if (!again) return undefined;
		if (refusal?.retryAfter !== undefined) {
			return refusal.retryAfter * 1000 <= longestWait ? refusal.retryAfter * 1000 : undefined;
		}
		return jitter(Math.min(longestDelay, firstDelay * 2 ** attempt));
	}
}

/** Spreads the tries of many clients: between half of ms and ms. */
function jitter(ms: number): number {
	return ms / 2 + (Math.random() * ms) / 2;
}

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
	return new Promise((resolve, reject) => {
		signal?.throwIfAborted();
		const stop = () => {
			clearTimeout(timer);
			reject(signal?.reason as Error);
		};
		const timer = setTimeout(() => {
			signal?.removeEventListener("abort", stop);
			resolve();
		}, ms);
		signal?.addEventListener("abort", stop, { once: true });
	});
}

/** A stream that ended in the middle. */
class BrokenOff extends Error {}

async function* readEvents(response: Response): AsyncGenerator<ServerEvent, void> {
	if (!response.body) return;
	const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
	let rest = "";
	let event = { id: "", type: "message", data: [] as string[] };
	try {
		for (;;) {
			let chunk: ReadableStreamReadResult<string>;
			try {
				chunk = await reader.read();
			} catch (error) {
				throw new BrokenOff("the stream broke off", { cause: error });
			}
			if (chunk.done) break;
			const lines = (rest + chunk.value).split(/\r?\n/);
			rest = lines.pop() ?? "";
			for (const line of lines) {
				if (line === "") {
					if (event.data.length > 0) yield { ...event, data: JSON.parse(event.data.join("\n")) as unknown };
					event = { id: "", type: "message", data: [] };
					continue;
				}
				const [, name, value] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
				if (name === "id") event.id = value ?? "";
				if (name === "event") event.type = value ?? "";
				if (name === "data") event.data.push(value ?? "");
			}
		}
		if (rest !== "" || event.data.length > 0) {
			throw new BrokenOff("the stream broke off", { cause: new Error("the stream broke off within an event") });
		}
	} finally {
		await reader.cancel().catch(() => undefined);
	}
}
