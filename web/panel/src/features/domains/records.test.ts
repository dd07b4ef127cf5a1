import { expect, test } from "vitest";

import { readServers, readSigners, writeServers, writeSigners } from "./records";

test("name servers with and without addresses", () => {
  expect(readServers("NS1.example.com.\n\n ns2.example.com 192.0.2.1, 2001:db8::1 ")).toEqual({
    nameservers: ["ns1.example.com", "ns2.example.com"],
    glue: [{ name: "ns2.example.com", addresses: ["192.0.2.1", "2001:db8::1"] }],
  });
  expect(readServers("ns1")).toEqual({ wrong: "ns1" });
  expect(readServers("ns1.example.com somewhere")).toEqual({ wrong: "ns1.example.com somewhere" });
});

test("what was read is written again", () => {
  expect(writeServers(["a.b.uz", "c.d.uz"], [{ name: "a.b.uz", addresses: ["192.0.2.1"] }])).toBe(
    "a.b.uz 192.0.2.1\nc.d.uz",
  );
});

const digest = "ab".repeat(32);

test.each([
  [`12345 13 2 ${digest}`, 1],
  [`example.com. 3600 IN DS 12345 13 2 ${digest.slice(0, 30)} ${digest.slice(30)}`, 1],
  ["", 0],
])("signers of %j", (text, count) => {
  expect(readSigners(text)).toHaveLength(count);
});

test.each([`12345 13 2 ${digest}00`, `x 13 2 ${digest}`, `12345 13 3 ${digest}`, "12345 13 2 zz"])(
  "%j is no signer",
  (line) => {
    expect(readSigners(line)).toEqual({ wrong: line });
  },
);

test("signers are written as zone files have them", () => {
  expect(writeSigners([{ key_tag: 1, algorithm: 13, digest_type: 2, digest: "AB" }])).toBe("1 13 2 AB");
});
