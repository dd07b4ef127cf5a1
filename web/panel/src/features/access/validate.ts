/** Why a text is no public key, as the name of a text; null when it is one. The server remains the judge. */
export function keyProblem(text: string): "key.empty" | "key.private" | "key.lines" | "key.form" | null {
  const typed = text.trim();
  if (typed === "") return "key.empty";
  if (/PRIVATE KEY/.test(typed)) return "key.private";
  if (/[\r\n]/.test(typed)) return "key.lines";
  return /^(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)|sk-(ssh-ed25519|ecdsa-sha2-nistp256)@openssh\.com) [A-Za-z0-9+/]+=*( .*)?$/.test(
    typed,
  )
    ? null
    : "key.form";
}

export const userProblem = (name: string): "user.wrong" | null =>
  /^[A-Za-z0-9_-]{1,64}$/.test(name.trim()) ? null : "user.wrong";
