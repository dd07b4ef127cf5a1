// Uses a running server: STEAD_URL and STEAD_TOKEN say which. internal/e2e runs it.
import assert from "node:assert/strict";
import { Stead, hasKey } from "../src/index.js";

const stead = new Stead({ baseURL: process.env["STEAD_URL"]!, token: process.env["STEAD_TOKEN"]! });

let plan = 0;
for await (const product of stead.catalog.all()) {
	if (product.type === "hosting") plan ||= product.plans[0]!.id;
}
const order = await stead.orders.create({ plan_id: plan, domain: "typescript.example.com" });
await stead.orders.pay(order.id, { idempotencyKey: `pay ${order.id}` });
await stead.orders.pay(order.id, { idempotencyKey: `pay ${order.id}` });

let service: number | undefined;
while (service === undefined) {
	for await (const s of stead.services.all({ q: "typescript.example.com", per_page: 1 })) {
		if (s.status === "active") service = s.id;
	}
	await new Promise((resolve) => setTimeout(resolve, 100));
}
await stead.files.upload(service, [{ name: "index.html", content: new Blob(["<h1>Open</h1>"]) }], { path: "/public_html", overwrite: true });
const file = await stead.files.download(service, { path: "/public_html/index.html" });
assert.equal(await file.text(), "<h1>Open</h1>");
await stead.dns.create(service, { type: "TXT", name: "one", value: "hello" });
const names: string[] = [];
for await (const r of stead.dns.all(service, { type: "TXT", per_page: 1 })) names.push(r.name);
assert.ok(names.includes("one"), String(names));
await assert.rejects(stead.services.get(2 ** 40), (e) => hasKey(e, "not_found"));
const russian = new Stead({ baseURL: process.env["STEAD_URL"]!, token: "sta_wrong", language: "ru" });
await assert.rejects(russian.account.get(), (e: Error) => /[а-я]/.test(e.message));
console.log("published", service);
