/** Name servers as somebody types them: one a line. Addresses behind a name are glue, for servers below the domain itself. */
interface Servers {
  nameservers: string[];
  glue: { name: string; addresses: string[] }[];
}

const host = /^([a-z0-9_]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}$/;

/** Reads lines such as "ns1.example.com" or "ns1.example.com 192.0.2.1"; answers the first line that is none. */
export function readServers(text: string): Servers | { wrong: string } {
  const servers: Servers = { nameservers: [], glue: [] };
  for (const line of text.split("\n")) {
    const [name, ...addresses] = line
      .trim()
      .toLowerCase()
      .split(/[\s,]+/);
    if (!name) continue;
    const clean = name.replace(/\.$/, "");
    if (!host.test(clean) || addresses.some((one) => !/^[0-9a-f.:]+$/.test(one))) return { wrong: line.trim() };
    servers.nameservers.push(clean);
    if (addresses.length > 0) servers.glue.push({ name: clean, addresses });
  }
  return servers;
}

export const writeServers = (nameservers: string[], glue: { name: string; addresses: string[] }[]) =>
  nameservers.map((name) => [name, ...(glue.find((one) => one.name === name)?.addresses ?? [])].join(" ")).join("\n");

interface Signer {
  key_tag: number;
  algorithm: number;
  digest_type: 1 | 2 | 4;
  digest: string;
}

/** Reads delegation signers as zone files have them: "12345 13 2 0a1b…", one a line. */
export function readSigners(text: string): Signer[] | { wrong: string } {
  const signers: Signer[] = [];
  for (const line of text.split("\n")) {
    const words = line
      .trim()
      .replace(/^.*\sDS\s/i, "")
      .split(/\s+/)
      .filter(Boolean);
    if (words.length === 0) continue;
    const [tag, algorithm, type] = words.slice(0, 3).map(Number);
    const digest = words.slice(3).join("").toUpperCase();
    const length = { 1: 40, 2: 64, 4: 96 }[type ?? 0];
    const good = [tag, algorithm].every((one) => Number.isInteger(one) && (one ?? -1) >= 0 && (one ?? 0) <= 65535);
    if (!good || !/^[0-9A-F]+$/.test(digest) || digest.length !== length) return { wrong: line.trim() };
    signers.push({ key_tag: tag ?? 0, algorithm: algorithm ?? 0, digest_type: type as 1 | 2 | 4, digest });
  }
  return signers;
}

export const writeSigners = (signers: { key_tag: number; algorithm: number; digest_type: number; digest: string }[]) =>
  signers.map((one) => `${one.key_tag} ${one.algorithm} ${one.digest_type} ${one.digest}`).join("\n");
