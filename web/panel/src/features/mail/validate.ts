/** Why the part before the @ is not possible, as the name of a text; null when it is. The server remains the judge. */
export function localProblem(local: string): "local.empty" | "local.characters" | null {
  if (local === "") return "local.empty";
  return local.length <= 64 && /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/i.test(local) ? null : "local.characters";
}

/** Why a password is not possible; an empty one is, where the present one stays. */
export function passwordProblem(password: string, optional = false): "password.short" | "password.long" | null {
  if (optional && password === "") return null;
  if ([...password].length < 10) return "password.short";
  return new TextEncoder().encode(password).length > 72 ? "password.long" : null;
}

/** Addresses as people type them: one a line, or between commas or blanks. */
export const addresses = (text: string): string[] => text.split(/[\s,;]+/).filter(Boolean);

export function addressesProblem(text: string): "addresses.wrong" | null {
  return addresses(text).every((address) => /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(address)) ? null : "addresses.wrong";
}

export const quotaProblem = (quota: number | string): "quota.wrong" | null =>
  Number.isInteger(Number(quota)) && Number(quota) >= 1 && Number(quota) <= 1048576 ? null : "quota.wrong";

// Without what people take for something else: 0 O, 1 l I.
const alphabet = "23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/** A password that nobody guesses: 20 characters of 57. */
export function newPassword(): string {
  let password = "";
  while (password.length < 20) {
    const [byte = 255] = crypto.getRandomValues(new Uint8Array(1));
    if (byte < 228) password += alphabet[byte % 57] ?? ""; // 228 = 4 × 57: no character is likelier
  }
  return password;
}

interface Server {
  host: string;
  port: number;
  tls: string;
}

/** The settings as lines of text, which a phone shows after scanning them. It bears no password. */
export const settingsText = (
  address: string,
  client: { username: string; imap: Server | null; smtp: Server | null },
): string => {
  const line = (kind: string, server: Server | null) =>
    server ? [`${kind}: ${server.host}, ${server.port}, ${server.tls === "tls" ? "SSL/TLS" : "STARTTLS"}`] : [];
  return [address, client.username, ...line("IMAP", client.imap), ...line("SMTP", client.smtp)]
    .filter((text, i, all) => all.indexOf(text) === i)
    .join("\n");
};
