import {
  IconApps,
  IconActivityHeartbeat,
  IconArchive,
  IconBell,
  IconBellCog,
  IconBrandPhp,
  IconCertificate,
  IconChartBar,
  IconClock,
  IconDatabase,
  IconDeviceMobile,
  IconDevices,
  IconFileInvoice,
  IconFileText,
  IconFolder,
  IconGift,
  IconHeartbeat,
  IconHistory,
  IconHome,
  IconKey,
  IconLayout,
  IconLifebuoy,
  IconLock,
  IconMail,
  IconPackageExport,
  IconPlugConnected,
  IconReceiptDollar,
  IconRocket,
  IconServer,
  IconShieldLock,
  IconShoppingCart,
  IconSparkles,
  IconTerminal2,
  IconUser,
  IconUsers,
  IconWallet,
  IconWorld,
  IconWorldSearch,
  type Icon,
} from "@tabler/icons-react";

import type { t } from "./texts";

export interface Entry {
  to: string;
  label: Parameters<typeof t>[0];
  icon: Icon;
  /** The section of the interface that must be switched on. */
  section?: string;
  /** Whose page it is, when not everybody's: the owner of a service, and not a reseller's client; or a reseller. */
  only?: "owner" | "reseller";
}

/** The pages of an account, in the order of the menu. */
export const accountPages: Entry[] = [
  { to: "/", label: "nav.overview", icon: IconHome },
  { to: "/services", label: "nav.services", icon: IconServer, section: "services" },
  { to: "/domains", label: "nav.domains", icon: IconWorld, section: "domains" },
  { to: "/monitors", label: "nav.monitors", icon: IconActivityHeartbeat, section: "monitors" },
  { to: "/reseller", label: "nav.reseller", icon: IconUsers, section: "reseller", only: "reseller" },
  { to: "/notifications", label: "nav.notifications", icon: IconBell, section: "account" },
  { to: "/rewards", label: "nav.rewards", icon: IconGift, section: "account" },
  { to: "/wallet", label: "nav.wallet", icon: IconWallet, section: "wallet" },
  { to: "/orders", label: "nav.orders", icon: IconShoppingCart, section: "orders" },
  { to: "/invoices", label: "nav.invoices", icon: IconFileInvoice, section: "orders" },
  { to: "/support", label: "nav.support", icon: IconLifebuoy, section: "account" },
];

/** The pages of one service; `to` is below /services/$service. */
export const servicePages: Entry[] = [
  { to: "", label: "nav.service.overview", icon: IconHome, only: "owner" },
  { to: "/plan", label: "nav.service.plan", icon: IconReceiptDollar, section: "services", only: "owner" },
  { to: "/files", label: "nav.service.files", icon: IconFolder, section: "files" },
  { to: "/deploys", label: "nav.service.deploys", icon: IconRocket, section: "files" },
  { to: "/templates", label: "nav.service.templates", icon: IconLayout, section: "content" },
  { to: "/databases", label: "nav.service.databases", icon: IconDatabase, section: "service_management" },
  { to: "/domains", label: "nav.service.domains", icon: IconWorld, section: "service_management" },
  { to: "/dns", label: "nav.service.dns", icon: IconWorldSearch, section: "service_management" },
  { to: "/mail", label: "nav.service.mail", icon: IconMail, section: "service_management" },
  {
    to: "/certificates",
    label: "nav.service.certificates",
    icon: IconCertificate,
    section: "service_management",
  },
  { to: "/php", label: "nav.service.php", icon: IconBrandPhp, section: "service_management" },
  { to: "/access", label: "nav.service.access", icon: IconKey, section: "service_management" },
  { to: "/passwords", label: "nav.service.passwords", icon: IconLock, section: "service_management" },
  { to: "/cron", label: "nav.service.cron", icon: IconClock, section: "service_management" },
  { to: "/backups", label: "nav.service.backups", icon: IconArchive, section: "service_management" },
  { to: "/logs", label: "nav.service.logs", icon: IconFileText, section: "service_management" },
  { to: "/statistics", label: "nav.service.statistics", icon: IconChartBar, section: "service_management" },
  { to: "/health", label: "nav.service.health", icon: IconHeartbeat, section: "security", only: "owner" },
  { to: "/terminal", label: "nav.service.terminal", icon: IconTerminal2, section: "service_management" },
  { to: "/agent", label: "nav.service.agent", icon: IconSparkles, section: "ai", only: "owner" },
];

/** The pages about the account itself. */
export const profilePages: Entry[] = [
  { to: "/account/profile", label: "nav.profile", icon: IconUser },
  { to: "/account/security", label: "nav.security", icon: IconShieldLock },
  { to: "/account/sessions", label: "nav.sessions", icon: IconDevices },
  { to: "/account/log", label: "nav.log", icon: IconHistory },
  { to: "/account/connections", label: "nav.connections", icon: IconPlugConnected, section: "oauth" },
  { to: "/account/applications", label: "nav.applications", icon: IconApps, section: "oauth" },
  { to: "/account/notifications", label: "nav.preferences", icon: IconBellCog, section: "account" },
  { to: "/account/devices", label: "nav.devices", icon: IconDeviceMobile },
  { to: "/account/data", label: "nav.data", icon: IconPackageExport },
];

export interface Pages {
  accountPages: Entry[];
  servicePages: Entry[];
}
