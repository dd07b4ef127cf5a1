import assert from "node:assert/strict";
import { test } from "node:test";
import { Caller } from "../src/client.js";
import { Stead, SteadError, hasKey } from "../src/index.js";
import { CustomerOperations } from "../src/operations.gen.js";
import { OAuthError, OAuthTokens, authorizeURL, exchange, newVerifier, refresh } from "../src/oauth.js";
import { verify } from "../src/webhook.js";

interface Seen {
	method: string;
	path: string;
	key: string | null;
	token: string | null;
	body: string;
}

const answer = (status: number, body: unknown, headers: Record<string, string> = {}) => () =>
	new Response(typeof body === "string" ? body : JSON.stringify(body), { status, headers });
const broken = () => {
	throw new TypeError("fetch failed");
};

/** A client of a server that gives the answers one after the other, the last one for all that follows. */
function fake(...answers: (() => Response)[]) {
	const seen: Seen[] = [];
	const waits: number[] = [];
	const fetch = async (input: RequestInfo | URL, init: RequestInit = {}) => {
		const url = new URL(String(input));
		const headers = new Headers(init.headers);
		const sent = new Request("http://sent.example", { method: "POST", ...(init.body ? { body: init.body } : {}) });
		seen.push({
			method: init.method ?? "GET",
			path: url.pathname + url.search,
			key: headers.get("Idempotency-Key"),
			token: headers.get("Authorization"),
			body: await sent.text(),
		});
		return answers[Math.min(seen.length, answers.length) - 1]!();
	};
	const caller = new Caller({ baseURL: "https://my.example.com/", token: "t", fetch });
	caller.sleep = (ms) => {
		waits.push(ms);
		return Promise.resolve();
	};
	return { stead: new CustomerOperations(caller), seen, waits, fetch };
}

test("what is tried again, and what is not", async () => {
	const down = answer(502, "<html>");
	const limited = answer(429, { error: "rate_limited" }, { "Retry-After": "7" });
	const later = (error: string) => answer(503, { error }, { "Retry-After": "5" });
	const read = (s: CustomerOperations) => s.services.get(1);
	const pay = (s: CustomerOperations) => s.orders.pay(1);
	const create = (s: CustomerOperations) => s.databases.create(1, { name: "shop", engine: "mariadb" });
	const remove = (s: CustomerOperations) => s.databases.delete(1, 2);
	const cases: [string, (s: CustomerOperations) => Promise<unknown>, (() => Response)[], number, string | undefined][] = [
		["a read after a bad gateway", read, [down, answer(200, {})], 2, undefined],
		["a payment after a broken connection", pay, [broken, down, answer(200, {})], 3, undefined],
		["a payment that is under way", pay, [answer(409, { error: "idempotency_in_progress" }), answer(200, {})], 2, undefined],
		["a creation after a limit", create, [limited, answer(201, {})], 2, undefined],
		["no creation that may have happened", create, [down, answer(201, {})], 1, ""],
		["no creation whose commit may have happened", create, [later("unavailable"), answer(201, {})], 1, "unavailable"],
		["no creation by what stands between", create, [answer(503, "<html>", { "Retry-After": "5" }), answer(201, {})], 1, ""],
		["a creation that a busy machine refused", create, [later("panel_busy"), answer(201, {})], 2, undefined],
		["a creation during maintenance", create, [later("maintenance"), answer(201, {})], 2, undefined],
		["a read whose answer took too long", read, [later("unavailable"), answer(200, {})], 2, undefined],
		["a payment whose answer took too long", pay, [later("unavailable"), answer(200, {})], 2, undefined],
		["no refusal", pay, [answer(422, { error: "insufficient_funds" })], 1, "insufficient_funds"],
		["a deletion that an earlier try has done", remove, [broken, answer(404, { error: "not_found" })], 2, undefined],
		["a deletion of nothing", remove, [answer(404, { error: "not_found" })], 1, "not_found"],
		["not longer than the tries last", read, [down], 5, ""],
		["not after a minute", read, [answer(503, { error: "maintenance" }, { "Retry-After": "3600" })], 1, "maintenance"],
	];
	for (const [name, call, answers, tries, key] of cases) {
		const f = fake(...answers);
		let failed: unknown;
		await call(f.stead).catch((error: unknown) => (failed = error));
		if (key === undefined) assert.equal(failed, undefined, name);
		else assert.ok(failed instanceof SteadError && failed.key === key, `${name}: ${String(failed)}`);
		assert.equal(f.seen.length, tries, name);
		for (const s of f.seen) assert.deepEqual(s, f.seen[0], name);
	}
	const f = fake(limited, answer(500, {}), answer(200, {}));
	await f.stead.account.get();
	assert.equal(f.waits[0], 7000);
	assert.ok(f.waits[1]! >= 500 && f.waits[1]! <= 1000, String(f.waits));
});

test("a key names one intention", async () => {
	const f = fake(answer(200, {}));
	await f.stead.orders.pay(1);
	await f.stead.orders.pay(1);
	await f.stead.orders.pay(1, { idempotencyKey: "mine" });
	assert.ok(f.seen[0]!.key && f.seen[0]!.key !== f.seen[1]!.key);
	assert.equal(f.seen[2]!.key, "mine");
});

test("errors have keys", async () => {
	const f = fake(answer(422, { error: "validation_failed", message: "Xato", errors: { name: ["too long"] }, balance: 5 }, { "X-Request-Id": "r1" }));
	await assert.rejects(f.stead.databases.create(1, { name: "", engine: "mariadb" }), (e) => {
		assert.ok(hasKey(e, "validation_failed"));
		assert.deepEqual([e.status, e.message, e.fields, e.requestId], [422, "Xato", { name: ["too long"] }, "r1"]);
		return true;
	});
	for (const baseURL of ["", "my.example.com", "ftp://x", "https://x/?a=b"]) assert.throws(() => new Stead({ baseURL }), TypeError);
});

test("pages are asked for as they are read", async () => {
	const page = (n: number, ...ids: number[]) => answer(200, { data: ids.map((id) => ({ id })), meta: { page: n, per_page: 2, total: 3, last_page: 2 } });
	const f = fake(page(1, 1, 2), page(2, 3));
	const ids: number[] = [];
	for await (const s of f.stead.services.all({ status: "active", per_page: 2 })) {
		ids.push(s.id);
		if (ids.length === 2) assert.equal(f.seen.length, 1);
	}
	assert.deepEqual(ids, [1, 2, 3]);
	assert.equal(f.seen[1]!.path, "/api/v1/services?status=active&per_page=2&page=2");
});

test("events go on where they broke off", async () => {
	const begin = () => {
		let sent = false;
		const body = new ReadableStream<Uint8Array>({
			pull(controller) {
				if (sent) return controller.error(new Error("reset"));
				sent = true;
				controller.enqueue(new TextEncoder().encode(': hello\n\nid: 1\nevent: line\ndata: {"a":\ndata: 1}\n\nid: 2\ndata: 2'));
			},
		});
		return new Response(body);
	};
	const f = fake(begin, answer(200, "id: 2\ndata: 2\n\n"));
	const got: unknown[] = [];
	for await (const e of f.stead.logs.listEvents(1)) got.push([e.id, e.type, e.data]);
	assert.deepEqual(got, [["1", "line", { a: 1 }], ["2", "message", 2]]);
	assert.equal(f.seen[0]!.path, "/api/v1/services/1/logs?follow=true");
});

test("files are uploaded as a form", async () => {
	const f = fake(answer(201, { entries: [] }));
	await f.stead.files.upload(1, [{ name: "a.txt", content: new Blob(["hello"]) }], { path: "/public_html" });
	assert.match(f.seen[0]!.body, /name="file"; filename="a.txt"[^]*hello/);
});

test("a token is refreshed once", async () => {
	let asked = 0;
	const f = fake(answer(200, {}));
	const config = {
		baseURL: "https://my.example.com",
		clientId: "app",
		fetch: () => {
			asked++;
			return Promise.resolve(new Response(JSON.stringify({ access_token: "a1", refresh_token: "r1", expires_in: 3600 })));
		},
	};
	let saved: unknown;
	const tokens = new OAuthTokens(config, { access: "a0", refresh: "r0", expires: Date.now() + 1000 }, (t) => {
		saved = t.refresh;
	});
	const stead = new Stead({ baseURL: config.baseURL, token: tokens, fetch: f.fetch });
	await Promise.all([stead.account.get(), stead.account.get(), stead.account.get()]);
	assert.equal(asked, 1);
	assert.equal(saved, "r1");
	assert.equal(f.seen[0]!.token, "Bearer a1");
	await assert.rejects(exchange(config, "https://app.example/cb?code=c&state=other", "https://app.example/cb", "mine", newVerifier()));
	const url = new URL(await authorizeURL({ ...config, scopes: ["profile"] }, "https://app.example/cb", "s", "v".repeat(43)));
	assert.equal(url.searchParams.get("code_challenge_method"), "S256");
});

test("tokens whose answer was lost are asked for once more", async () => {
	let asked = 0;
	const bounded: boolean[] = [];
	const config = (...answers: (() => Response)[]) => ({
		baseURL: "https://my.example.com",
		clientId: "app",
		fetch: (_: RequestInfo | URL, init: RequestInit = {}) => {
			bounded.push(init.signal instanceof AbortSignal);
			return Promise.resolve().then(answers[Math.min(++asked, answers.length) - 1]!);
		},
	});
	const fresh = answer(200, { access_token: "a1", refresh_token: "r1", expires_in: 3600 });
	for (const lost of [broken, answer(503, { error: "unavailable" }), answer(200, '{"access_')]) {
		asked = 0;
		assert.equal((await refresh(config(lost, fresh), "r0")).refresh, "r1");
		assert.equal(asked, 2);
	}
	asked = 0;
	await assert.rejects(refresh(config(answer(400, { error: "invalid_grant" }), fresh), "r0"), OAuthError);
	assert.equal(asked, 1);
	assert.ok(bounded.every(Boolean), "each try has an end");
});

test("webhooks are verified", async () => {
	// The example of the Standard Webhooks specification's reference libraries.
	const body = '{"test": 2432232314}';
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
	const headers = {
		"Webhook-Id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
		"webhook-timestamp": "1614265330",
		"webhook-signature": "v1,AAAA v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
	};
	const now = 1614265330_000;
	assert.equal((await verify(body, headers, { secrets: [secret], now }))["test"], 2432232314);
	const other = "whsec_b3RoZXItc2VjcmV0LW90aGVyLXNlY3JldA==";
	assert.ok(await verify(new TextEncoder().encode(body), new Headers(headers), { secrets: [other, secret], now }));
	for (const [why, b, h, o] of [
		["another body", body + " ", headers, { secrets: [secret], now }],
		["another secret", body, headers, { secrets: [other], now }],
		["too old", body, headers, { secrets: [secret], now: now + 301_000 }],
		["another id", body, { ...headers, "Webhook-Id": "msg_x" }, { secrets: [secret], now }],
		["no signature", body, { ...headers, "webhook-signature": "" }, { secrets: [secret], now }],
		["no secret", body, headers, { secrets: ["whsec_"], now }],
	] as const) {
		await assert.rejects(verify(b, h, { ...o, secrets: [...o.secrets] }), Error, why);
	}
});
