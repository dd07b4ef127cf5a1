/** Signs a customer in to a Stead server: OAuth 2.0 with PKCE, in browsers and in Node. */
import type { TokenSource } from "./client.js";

export interface OAuthConfig {
	/** Address of the server. */
	baseURL: string;
	clientId: string;
	/** Of a confidential application; never in a browser. */
	clientSecret?: string;
	scopes?: string[];
	fetch?: typeof globalThis.fetch;
}

/** What the server gives. It is secret. */
export interface Token {
	access: string;
	refresh?: string;
	/** In milliseconds since 1970. */
	expires: number;
	scope?: string;
}

/** A refusal by the OAuth endpoints; with the key invalid_grant sign in again. */
export class OAuthError extends Error {
	override readonly name = "OAuthError";
	constructor(
		readonly key: string,
		message: string,
		readonly status: number,
	) {
		super(message);
	}
}

/** Makes a secret for PKCE, or for the state of a request. */
export function newVerifier(): string {
	return base64url(crypto.getRandomValues(new Uint8Array(32)));
}

function base64url(bytes: Uint8Array): string {
	return btoa(String.fromCharCode(...bytes)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

/** Returns where the browser goes; it comes back to redirect with a code and the state. Keep state and verifier for then. */
export async function authorizeURL(config: OAuthConfig, redirect: string, state: string, verifier: string): Promise<string> {
	const sum = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
	const query = new URLSearchParams({
		response_type: "code",
		client_id: config.clientId,
		redirect_uri: redirect,
		state,
		code_challenge: base64url(new Uint8Array(sum)),
		code_challenge_method: "S256",
	});
	if (config.scopes?.length) query.set("scope", config.scopes.join(" "));
	return `${config.baseURL.replace(/\/+$/, "")}/oauth/authorize?${query}`;
}

/** Turns the address that the browser came back to into tokens. */
export async function exchange(config: OAuthConfig, returned: string, redirect: string, state: string, verifier: string): Promise<Token> {
	const query = new URL(returned).searchParams;
	if (query.get("state") !== state) throw new OAuthError("state_mismatch", "this is not the answer to this sign-in", 0);
	const refused = query.get("error");
	if (refused !== null) throw new OAuthError(refused, query.get("error_description") ?? refused, 0);
	return post(config, { grant_type: "authorization_code", code: query.get("code") ?? "", redirect_uri: redirect, code_verifier: verifier });
}

/**
 * A server repeats the answer to a refresh for 10 s; the same refresh token later is taken for a stolen one, and ends the sign-in.
 * Two tries and the pause between them, in milliseconds, are shorter than that.
 */
const refreshTimeout = 4_000;
const refreshPause = 1_000;

/** Gets new tokens. The refresh token is used up by it: keep the new one. A try without an answer is repeated once and gets the same. */
export async function refresh(config: OAuthConfig, token: string): Promise<Token> {
	const once = () => post(config, { grant_type: "refresh_token", refresh_token: token }, AbortSignal.timeout(refreshTimeout));
	try {
		return await once();
	} catch (error) {
		if (error instanceof OAuthError && error.status < 500) throw error;
	}
	await new Promise((resolve) => setTimeout(resolve, refreshPause));
	return once();
}

/** Ends all that came of a sign-in. */
export async function revoke(config: OAuthConfig, token: Token): Promise<void> {
	await send(config, "/oauth/revoke", { token: token.refresh ?? token.access });
}

async function post(config: OAuthConfig, form: Record<string, string>, signal?: AbortSignal): Promise<Token> {
	const told = (await (await send(config, "/oauth/token", form, signal)).json()) as {
		access_token: string;
		refresh_token?: string;
		expires_in: number;
		scope?: string;
	};
	const token: Token = { access: told.access_token, expires: Date.now() + told.expires_in * 1000 };
	if (told.refresh_token !== undefined) token.refresh = told.refresh_token;
	if (told.scope !== undefined) token.scope = told.scope;
	return token;
}

async function send(config: OAuthConfig, path: string, form: Record<string, string>, signal?: AbortSignal): Promise<Response> {
	const body = new URLSearchParams({ ...form, client_id: config.clientId });
	if (config.clientSecret !== undefined) body.set("client_secret", config.clientSecret);
	const call = config.fetch ?? globalThis.fetch;
	const response = await call(config.baseURL.replace(/\/+$/, "") + path, { method: "POST", body, credentials: "omit", signal: signal ?? null });
	if (response.ok) return response;
	let told: { error?: string; error_description?: string; message?: string } = {};
	try {
		told = (await response.json()) as typeof told;
	} catch {
		// Something between: the status has to do.
	}
	const key = told.error ?? `http_${response.status}`;
	throw new OAuthError(key, told.error_description ?? told.message ?? key, response.status);
}

/** Gives a client its access tokens and refreshes them a little before they expire, once for all calls that wait. */
export class OAuthTokens implements TokenSource {
	#token: Token;
	#running: Promise<void> | undefined;

	constructor(
		readonly config: OAuthConfig,
		token: Token,
		/** Keeps each new token: the one before is used up then. */
		readonly save: (token: Token) => void | Promise<void> = () => undefined,
	) {
		this.#token = token;
	}

	async token(): Promise<string> {
		if (this.#token.refresh !== undefined && Date.now() + 30_000 > this.#token.expires) await this.#refresh();
		return this.#token.access;
	}

	async refresh(expired: string): Promise<void> {
		if (this.#token.access === expired) await this.#refresh();
	}

	#refresh(): Promise<void> {
		this.#running ??= (async () => {
			try {
				const used = this.#token.refresh;
				if (used === undefined) throw new OAuthError("invalid_grant", "there is no refresh token: sign in again", 0);
				this.#token = { refresh: used, ...(await refresh(this.config, used)) };
				await this.save(this.#token);
			} finally {
				this.#running = undefined;
			}
		})();
		return this.#running;
	}
}
