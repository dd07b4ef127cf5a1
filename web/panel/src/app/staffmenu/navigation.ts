import {
  IconActivity,
  IconArticle,
  IconCertificate,
  IconChecks,
  IconCoin,
  IconCurrency,
  IconFileInvoice,
  IconHeartRateMonitor,
  IconHistory,
  IconHome,
  IconLayout,
  IconMail,
  IconMessages,
  IconPalette,
  IconPuzzle,
  IconReceiptTax,
  IconSearch,
  IconServer,
  IconSettings,
  IconServer2,
  IconShoppingCart,
  IconSpeakerphone,
  IconStar,
  IconTags,
  IconTicket,
  IconToggleRight,
  IconUserShield,
  IconUsers,
  IconWebhook,
  IconWorld,
  IconWorldWww,
  type Icon,
} from "@tabler/icons-react";

import type { Operation } from "~/api/staff";

import type { t } from "./texts";

export interface StaffEntry {
  /** Its address below /staff/. */
  to: string;
  label: Parameters<typeof t>[0];
  icon: Icon;
  /** The operation that its page begins with: who may not call it does not see the page. */
  operation: Operation;
}

/** The pages of staff, in the order of the menu. */
export const staffPages: StaffEntry[] = [
  { to: "", label: "nav.home", icon: IconHome, operation: "staff.dashboard" },
  { to: "search", label: "nav.search", icon: IconSearch, operation: "staff.search" },
  { to: "tickets", label: "nav.tickets", icon: IconMessages, operation: "staff.tickets.list" },
  { to: "customers", label: "nav.customers", icon: IconUsers, operation: "staff.customers.list" },
  { to: "services", label: "nav.services", icon: IconServer, operation: "staff.services.list" },
  { to: "domains", label: "nav.domains", icon: IconWorldWww, operation: "staff.domains.list" },
  { to: "certificates", label: "nav.certificates", icon: IconCertificate, operation: "staff.certificates.list" },
  { to: "orders", label: "nav.orders", icon: IconShoppingCart, operation: "staff.orders.list" },
  { to: "invoices", label: "nav.documents", icon: IconFileInvoice, operation: "staff.documents.list" },
  { to: "topups", label: "nav.topups", icon: IconCoin, operation: "staff.topups.waiting" },
  { to: "addons", label: "nav.addons", icon: IconPuzzle, operation: "staff.addons.waiting" },
  { to: "nodes", label: "nav.nodes", icon: IconServer2, operation: "staff.nodes.list" },
  { to: "jobs", label: "nav.jobs", icon: IconChecks, operation: "staff.jobs.list" },
  { to: "webhooks", label: "nav.webhooks", icon: IconWebhook, operation: "staff.webhooks.deliveries" },
  { to: "incidents", label: "nav.incidents", icon: IconActivity, operation: "staff.incidents.list" },
  { to: "announcements", label: "nav.announcements", icon: IconSpeakerphone, operation: "staff.announcements.list" },
  { to: "sla", label: "nav.sla", icon: IconHeartRateMonitor, operation: "staff.sla.list" },
  { to: "reviews", label: "nav.reviews", icon: IconStar, operation: "staff.reviews.list" },
  { to: "articles", label: "nav.articles", icon: IconArticle, operation: "staff.articles.list" },
  { to: "templates", label: "nav.templates", icon: IconLayout, operation: "staff.templates.list" },
  { to: "catalog", label: "nav.catalog", icon: IconTags, operation: "staff.catalog.export" },
  { to: "domain-prices", label: "nav.domain_prices", icon: IconWorld, operation: "staff.domain_prices.export" },
  { to: "coupons", label: "nav.coupons", icon: IconTicket, operation: "staff.coupons.list" },
  { to: "tax", label: "nav.tax", icon: IconReceiptTax, operation: "staff.tax_rules.get" },
  { to: "currencies", label: "nav.currencies", icon: IconCurrency, operation: "staff.currencies.list" },
  { to: "sections", label: "nav.sections", icon: IconToggleRight, operation: "staff.sections.list" },
  { to: "settings", label: "nav.settings", icon: IconSettings, operation: "staff.settings.list" },
  { to: "brand", label: "nav.brand", icon: IconPalette, operation: "staff.company.get" },
  { to: "mails", label: "nav.mails", icon: IconMail, operation: "staff.mails.list" },
  { to: "staff", label: "nav.staff_list", icon: IconUserShield, operation: "staff.staff.list" },
  { to: "audit", label: "nav.audit", icon: IconHistory, operation: "staff.audit.list" },
];
