import type { Change } from "~/api/live";

/** A query that shows what has changed: all below the key, or that one alone. */
export interface Affected {
  queryKey: unknown[];
  exact?: boolean;
}

/** The queries that show what has changed. */
export function affected({ type, service_id: service, object_id: object }: Change): Affected[] {
  const below = (...rest: string[]): Affected => ({ queryKey: ["service", service, ...rest] });
  switch (type.split(".")[0]) {
    case "service":
      return [{ queryKey: ["services"] }, { ...below(), exact: true }, below("usage")];
    case "backup":
      return [below("backups")];
    case "ssl":
      return [below("certificates")];
    case "mailbox":
      return [below("mailboxes")];
    case "cron_job":
      return [below("cron")];
    case "php":
      return [below("php")];
    case "ftp_account":
      return [below("ftp")];
    case "shell":
      return [below("shell")];
    case "template":
      return [below("template")];
    case "database":
      return [below("databases")];
    case "site_domain":
    case "hosted_domain":
      return [below("domains"), below("certificates")];
    case "addon":
      return [below("addons"), { ...below(), exact: true }];
    case "scan":
      return [below("health")];
    case "ai":
    case "insight":
      return [below("agent"), below("insights")];
    case "order":
      return [{ queryKey: ["orders"] }, { queryKey: ["order", object] }, { queryKey: ["services"] }];
    case "invoice":
      return [{ queryKey: ["invoices"] }, { queryKey: ["invoice", object] }];
    case "wallet":
      return [{ queryKey: ["wallet"] }];
    case "domain":
      return [{ queryKey: ["domains"] }, { queryKey: ["domain", object] }];
    case "monitor":
      return [{ queryKey: ["monitors"] }, { queryKey: ["monitor", object] }];
    default:
      return [];
  }
}

type Page = "" | "/backups" | "/certificates" | "/agent";

/** What is said of an end that somebody waits for, and the page of the service where they go on. */
export interface Ending {
  text: `live.${string}`;
  page: Page;
  good: boolean;
}

const endings: Record<string, Ending> = {
  "service.provisioned": { text: "live.service.ready", page: "", good: true },
  "service.provision_failed": { text: "live.service.failed", page: "", good: false },
  "backup.completed": { text: "live.backup.made", page: "/backups", good: true },
  "backup.failed": { text: "live.backup.failed", page: "/backups", good: false },
  "backup.restored": { text: "live.backup.restored", page: "/backups", good: true },
  "backup.restore_failed": { text: "live.backup.restore_failed", page: "/backups", good: false },
  "ssl.issued": { text: "live.ssl.issued", page: "/certificates", good: true },
  "ssl.failed": { text: "live.ssl.failed", page: "/certificates", good: false },
  "ai.run_completed": { text: "live.agent.done", page: "/agent", good: true },
  "ai.run_failed": { text: "live.agent.failed", page: "/agent", good: false },
  "ai.approval_required": { text: "live.agent.asks", page: "/agent", good: true },
};

/** The end of something that somebody waits for. What the clock has begun, such as a backup of the night, is none. */
export const endingOf = ({ type, kind }: Change): Ending | undefined =>
  type === "backup.completed" && kind !== "manual" ? undefined : endings[type];
