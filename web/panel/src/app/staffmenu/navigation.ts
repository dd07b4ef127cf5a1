import {
  IconCoin,
  IconFileInvoice,
  IconHome,
  IconMessages,
  IconSearch,
  IconServer,
  IconShoppingCart,
  IconUsers,
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
  { to: "orders", label: "nav.orders", icon: IconShoppingCart, operation: "staff.orders.list" },
  { to: "invoices", label: "nav.documents", icon: IconFileInvoice, operation: "staff.documents.list" },
  { to: "topups", label: "nav.topups", icon: IconCoin, operation: "staff.topups.waiting" },
];
