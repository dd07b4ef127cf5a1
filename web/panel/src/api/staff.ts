import createClient from "openapi-fetch";

import { boot } from "~/app/boot";

import type { components, operations, paths } from "./admin-schema";
import { send } from "./client";

export type Schemas = components["schemas"];
export type Operation = keyof operations;

/** The client of the interface of staff; its calls go through `call`. */
export const staff = createClient<paths>({ baseUrl: boot.base, fetch: send });
