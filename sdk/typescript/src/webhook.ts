/** Verifies the webhooks of a Stead server by WebCrypto: in Node, browsers' workers and at the edge. */

export interface WebhookEvent {
	id: string;
	type: string;
	sequence: number;
	created_at: string;
	[member: string]: unknown;
}

/** A request that is not from the server, or too old. */
export class WebhookError extends Error {
	override readonly name = "WebhookError";
}

export interface VerifyOptions {
	/** The secrets as they were shown, whsec_…; while one is rotated, both. */
	secrets: string[];
	/** Allowed difference from the sender's clock in seconds; 300 by default. */
	tolerance?: number;
	/** Now, in milliseconds. */
	now?: number;
}

type HeaderBag = Headers | Record<string, string | string[] | undefined>;

function header(headers: HeaderBag, name: string): string {
	if (headers instanceof Headers) return headers.get(name) ?? "";
	for (const [n, value] of Object.entries(headers)) {
		if (n.toLowerCase() === name) return Array.isArray(value) ? value.join(" ") : (value ?? "");
	}
	return "";
}

/**
 * Verifies a request and returns its event. The body must be the bytes as they came: text that was parsed and encoded again
 * has another signature. The same event may arrive more than once: keep the ids of those that were processed.
 */
export async function verify(body: string | Uint8Array, headers: HeaderBag, options: VerifyOptions): Promise<WebhookEvent> {
	const id = header(headers, "webhook-id");
	const timestamp = header(headers, "webhook-timestamp");
	const signatures = header(headers, "webhook-signature").split(/\s+/);
	const now = options.now ?? Date.now();
	if (!/^\d+$/.test(timestamp) || Math.abs(now / 1000 - Number(timestamp)) > (options.tolerance ?? 300)) {
		throw new WebhookError("the timestamp is missing, or too far from now");
	}
	const encoder = new TextEncoder();
	const content = typeof body === "string" ? encoder.encode(body) : body;
	const prefix = encoder.encode(`${id}.${timestamp}.`);
	const signed = new Uint8Array(prefix.length + content.length);
	signed.set(prefix);
	signed.set(content, prefix.length);
	for (const secret of options.secrets) {
		const key = await crypto.subtle.importKey("raw", decode(secret.replace(/^whsec_/, "")), { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
		for (const signature of signatures) {
			const bytes = tryDecode(signature.replace(/^v1,/, ""));
			if (bytes && (await crypto.subtle.verify("HMAC", key, bytes, signed))) {
				return JSON.parse(new TextDecoder().decode(content)) as WebhookEvent;
			}
		}
	}
	throw new WebhookError("no signature is right");
}

function decode(text: string): Uint8Array<ArrayBuffer> {
	const bytes = tryDecode(text);
	if (!bytes || bytes.length === 0) throw new WebhookError("no secret, or one that is not as it was shown");
	return bytes;
}

function tryDecode(text: string): Uint8Array<ArrayBuffer> | undefined {
	try {
		return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
	} catch {
		return undefined;
	}
}
