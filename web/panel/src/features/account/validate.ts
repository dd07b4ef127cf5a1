/** Why an address of mail is not possible, as the name of a text; null when it is. The server remains the judge. */
export const emailProblem = (email: string): "problem.email" | null =>
  /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(email.trim()) ? null : "problem.email";

/** Why a new password is not possible. */
export const passwordProblem = (password: string): "problem.password_short" | null =>
  [...password].length < 10 ? "problem.password_short" : null;

/** A code of an authenticator app without the blanks that people type. */
export const codeOf = (typed: string) => typed.replace(/\s/g, "");

/** Why a code is none. */
export const codeProblem = (typed: string): "problem.code" | null =>
  /^\d{6}$/.test(codeOf(typed)) ? null : "problem.code";

/** The lines of a text with one address each. */
export const linesOf = (text: string) =>
  text
    .split(/\s+/)
    .map((line) => line.trim())
    .filter(Boolean);

/** Why the addresses of an application are not possible. */
export function redirectsProblem(text: string): "problem.required" | "problem.redirects" | null {
  const lines = linesOf(text);
  if (lines.length === 0) return "problem.required";
  return lines.every((line) => /^[a-z][a-z0-9+.-]*:\/?\/?\S+$/i.test(line)) ? null : "problem.redirects";
}
