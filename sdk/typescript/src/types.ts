import type { components, operations } from "./schema.gen.js";

/** The objects of the API by their names in the OpenAPI document. */
export type Schemas = components["schemas"];

type Operation = keyof operations;

type JSONOf<T> = T extends { content: { "application/json": infer J } } ? J : never;

/** The query of an operation. */
export type Query<K extends Operation> = NonNullable<operations[K]["parameters"]["query"]>;

/** The body that an operation takes. */
export type Body<K extends Operation> = operations[K] extends { requestBody?: infer B } ? JSONOf<NonNullable<B>> : never;

/** What an operation answers. */
export type Answer<K extends Operation> = {
	[S in keyof operations[K]["responses"]]: JSONOf<operations[K]["responses"][S]>;
}[keyof operations[K]["responses"]];

/** An item of what a list answers. */
export type Item<K extends Operation> = Answer<K> extends { data: (infer T)[] } ? T : never;

/** A key of an error. A newer server may answer others. */
export type ErrorKey = string;
