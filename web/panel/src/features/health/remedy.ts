import type { Finding, Posture } from "./api";

/** The page of the panel, below the service's, on which an operation of the interface is done. */
const pages: Record<string, Page> = {
  ssl: "certificates",
  domains: "domains",
  files: "files",
  php: "php",
  backups: "backups",
  dns: "dns",
};

export type Page = "certificates" | "domains" | "files" | "php" | "backups" | "dns";

/** Where a finding is mended, by the operation that mends it: "POST /api/v1/services/7/ssl" is the certificates. */
export function pageOf(operation: string | null): Page | null {
  const part = /^[A-Z]+ \/api\/v1\/services\/\d+\/(\w+)/.exec(operation ?? "")?.[1];
  return (part && pages[part]) || null;
}

/** Where a part of the score is raised; null for the scan, whose findings say it, and for the owner's second factor. */
export const pageOfPart: Record<Posture["parts"][number]["key"], Page | null> = {
  scan: null,
  ssl: "certificates",
  php: "php",
  backups: "backups",
  two_factor: null,
};

const outcomes = ["fail", "warn", "skip", "pass"] as const satisfies readonly Finding["status"][];
const severities = ["critical", "high", "medium", "low", "info"] as const satisfies readonly Finding["severity"][];

/** All findings of a scan: what failed first, the worst of it above. */
export const inOrder = (findings: Finding[]): Finding[] =>
  findings.toSorted(
    (a, b) =>
      outcomes.indexOf(a.status) - outcomes.indexOf(b.status) ||
      severities.indexOf(a.severity) - severities.indexOf(b.severity),
  );

/** How many are to be mended, by severity; severities without any are left out. */
export const counts = (summary: Record<Finding["severity"], number>) =>
  severities.map((severity) => ({ severity, count: summary[severity] })).filter(({ count }) => count > 0);

/** A month of UTC, such as 2026-11, that many months before another. */
export function monthBefore(now: Date, back: number): string {
  const at = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1));
  return at.toISOString().slice(0, 7);
}
