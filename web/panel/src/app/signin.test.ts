import { expect, test } from "vitest";

import { onSignIn, signInOf } from "./signin";

const account = signInOf({ client: null, holder: "1" });
const other = signInOf({ client: null, holder: "2" });
const client = signInOf({ client: {}, holder: "service 7" });

test.each([
  ["its own account", account, account, "resume"],
  ["another account", other, account, "leave"],
  ["an account, where a reseller's client works", account, client, "ignore"],
  ["a reseller's client, where an account works", client, account, "ignore"],
])("a page hears of %s", (_, heard, own, want) => expect(onSignIn(heard, own)).toBe(want));
