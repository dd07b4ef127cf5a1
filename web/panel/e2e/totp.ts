import { createHmac } from "node:crypto";

/** The code that an authenticator app shows for a key (RFC 6238), of the period at that many seconds from now. */
export function totp(key: string, ahead = 0): string {
  const bits = [...key]
    .map((sign) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(sign).toString(2).padStart(5, "0"))
    .join("");
  const secret = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => parseInt(byte, 2)));
  const step = Buffer.alloc(8);
  step.writeBigUInt64BE(BigInt(Math.floor((Date.now() / 1000 + ahead) / 30)));
  const hash = createHmac("sha1", secret).update(step).digest();
  const at = (hash.at(-1) ?? 0) & 15;
  return String((hash.readUInt32BE(at) & 0x7fffffff) % 1_000_000).padStart(6, "0");
}
