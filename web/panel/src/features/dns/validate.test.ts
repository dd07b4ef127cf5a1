import { expect, test } from "vitest";

import { bodyOf, newDraft, problems, type Draft } from "./validate";

const draft = (changes: Partial<Draft>): Draft => ({ ...newDraft(), name: "www", ...changes });

test.each<[Partial<Draft>, ReturnType<typeof problems>]>([
  [{ type: "A", value: "192.0.2.7" }, {}],
  [{ type: "A", value: "192.0.2.256" }, { value: "problem.ipv4" }],
  [{ type: "A", value: "192.0.02.1" }, { value: "problem.ipv4" }],
  [{ type: "A", value: "2001:db8::1" }, { value: "problem.ipv4" }],
  [{ type: "AAAA", value: "2001:db8::1" }, {}],
  [{ type: "AAAA", value: "2001:db8:::1" }, { value: "problem.ipv6" }],
  [{ type: "AAAA", value: "192.0.2.7" }, { value: "problem.ipv6" }],
  [{ type: "CNAME", value: "shop.example.com." }, {}],
  [{ type: "CNAME", value: "192.0.2.7" }, { value: "problem.host_address" }],
  [{ type: "CNAME", name: "@", value: "example.com" }, { name: "problem.name_cname" }],
  [{ type: "ALIAS", name: "@", value: "example.com" }, {}],
  [{ type: "MX", value: ".", priority: "0" }, {}],
  [{ type: "MX", value: "mx.example.com", priority: "x" }, { priority: "problem.number" }],
  [{ type: "MX", value: "mx_example com" }, { value: "problem.host" }],
  [{ type: "TXT", value: "v=spf1 -all" }, {}],
  [{ type: "TXT", value: '"v=spf1 -all"' }, { value: "problem.text_quotes" }],
  [{ type: "TXT", value: "" }, { value: "problem.text_empty" }],
  [{ type: "TXT", value: "a\nb" }, { value: "problem.text_lines" }],
  [{ type: "TXT", value: "ў".repeat(2049) }, { value: "problem.text_long" }],
  [{ type: "SRV", name: "_sip._tcp", value: "sip.example.com", port: "5060" }, {}],
  [
    { type: "SRV", name: "sip", value: "sip.example.com", port: "" },
    { name: "problem.name_service", port: "problem.number" },
  ],
  [{ type: "CAA", value: "letsencrypt.org" }, {}],
  [{ type: "CAA", value: ";" }, {}],
  [{ type: "CAA", value: "letsencrypt" }, { value: "problem.caa_issuer" }],
  [{ type: "CAA", tag: "iodef", value: "mailto:me@example.com" }, {}],
  [{ type: "CAA", flags: "1", value: ";" }, { flags: "problem.flags" }],
  [{ type: "SSHFP", value: `4 2 ${"ab".repeat(32)}` }, {}],
  [{ type: "SSHFP", value: `4 2 ${"ab".repeat(31)}` }, { value: "problem.sshfp" }],
  [{ type: "DS", value: `12345 13 2 ${"ab".repeat(32)}` }, {}],
  [{ type: "TLSA", name: "_443._tcp", value: `3 1 1 ${"ab".repeat(32)}` }, {}],
  [{ type: "A", name: "-a", value: "192.0.2.7" }, { name: "problem.name" }],
  [{ type: "A", name: "*.shop", value: "192.0.2.7" }, {}],
  [{ type: "A", name: "shop.*", value: "192.0.2.7" }, { name: "problem.name" }],
  [{ type: "A", name: "", value: "192.0.2.7" }, {}],
  [{ type: "A", value: "192.0.2.7", ttl: "59" }, { ttl: "problem.ttl" }],
])("%j", (changes, found) => {
  expect(problems(draft(changes))).toEqual(found);
});

test("a body has the members of its type only", () => {
  expect(bodyOf(draft({ type: "MX", value: " mx.example.com ", priority: "5" }))).toEqual({
    name: "www",
    value: "mx.example.com",
    ttl: 3600,
    priority: 5,
  });
  expect(bodyOf(draft({ type: "CAA", name: "", value: ";" }))).toEqual({
    name: "@",
    value: ";",
    ttl: 3600,
    flags: 0,
    tag: "issue",
  });
});
