// Uses the server of ?url= with the token of ?token= from a page of another origin, and posts to /report what happened.
import { Stead, hasKey } from "../src/index.js";
import { newVerifier } from "../src/oauth.js";

async function use(baseURL: string, token: string): Promise<string> {
	const stead = new Stead({ baseURL, token });
	const domain = "browser.example.com";
	let plan = 0;
	for await (const product of stead.catalog.all({ per_page: 1 })) {
		if (product.type === "hosting") plan ||= product.plans[0]!.id;
	}
	const order = await stead.orders.create({ plan_id: plan, domain });
	await stead.orders.pay(order.id, { idempotencyKey: `pay ${order.id}` });
	let service: number | undefined;
	while (service === undefined) {
		for await (const s of stead.services.all({ q: domain })) {
			if (s.status === "active") service = s.id;
		}
		await new Promise((resolve) => setTimeout(resolve, 100));
	}
	const content = "<h1>Open</h1>";
	await stead.files.upload(service, [{ name: "index.html", content: new Blob([content]) }], { path: "/public_html", overwrite: true });
	const file = await stead.files.download(service, { path: "/public_html/index.html" });
	if ((await file.text()) !== content) throw new Error("the file is another one");
	const refused = await stead.services.get(2 ** 40).catch((error: unknown) => error);
	if (!hasKey(refused, "not_found")) throw refused;
	if (newVerifier().length < 43) throw new Error("the verifier is too short");
	return `published ${service}`;
}

const query = new URLSearchParams(location.search);
const report = await use(query.get("url")!, query.get("token")!).catch((error: unknown) => `failed: ${String(error)}`);
await fetch("/report", { method: "POST", body: report });
