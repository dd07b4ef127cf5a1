import { Caller, type ClientOptions } from "./client.js";
import { CustomerOperations, ResellerOperations } from "./operations.gen.js";

export { version } from "./client.js";
export type { CallOptions, ClientOptions, ServerEvent, TokenSource, Upload } from "./client.js";
export { SteadError, hasKey } from "./errors.js";
export type { Answer, Body, Item, Query, Schemas } from "./types.js";

/** A client for a customer, by an access token. */
export class Stead extends CustomerOperations {
	constructor(options: ClientOptions) {
		super(new Caller(options));
	}
}

/** A client for a reseller, by an API key: rsk_… or rsk_test_…. Keys are for servers, never for browsers. */
export class Reseller extends ResellerOperations {
	constructor(options: Omit<ClientOptions, "token"> & { key: string }) {
		super(new Caller({ ...options, token: options.key }));
	}
}
