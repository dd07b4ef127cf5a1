import { lazy, type ComponentType } from "react";

import type { StaffPage } from "~/ui/staff/page";

const page = (load: () => Promise<ComponentType<StaffPage>>) => lazy(async () => ({ default: await load() }));

/** The pages of staff by their addresses below /staff/; `*` is the id of the thing that the page is of. */
const pages = {
  "": page(async () => (await import("~/features/staffhome/Dashboard")).Dashboard),
  search: page(async () => (await import("~/features/staffhome/SearchPage")).SearchPage),
  customers: page(async () => (await import("~/features/staffcustomers/CustomerList")).CustomerList),
  "customers/*": page(async () => (await import("~/features/staffcustomers/CustomerPage")).CustomerPage),
  services: page(async () => (await import("~/features/staffservices/ServiceList")).ServiceList),
  "services/*": page(async () => (await import("~/features/staffservices/ServicePage")).ServicePage),
  domains: page(async () => (await import("~/features/staffservices/DomainList")).DomainList),
  certificates: page(async () => (await import("~/features/staffservices/CertificateList")).CertificateList),
  orders: page(async () => (await import("~/features/staffsales/OrderList")).OrderList),
  "orders/*": page(async () => (await import("~/features/staffsales/OrderPage")).OrderPage),
  invoices: page(async () => (await import("~/features/staffsales/DocumentList")).DocumentList),
  topups: page(async () => (await import("~/features/staffsales/TopupList")).TopupList),
  tickets: page(async () => (await import("~/features/stafftickets/TicketList")).TicketList),
  "tickets/*": page(async () => (await import("~/features/stafftickets/TicketPage")).TicketPage),
  nodes: page(async () => (await import("~/features/staffrunning/Nodes")).Nodes),
  jobs: page(async () => (await import("~/features/staffrunning/Jobs")).Jobs),
  webhooks: page(async () => (await import("~/features/staffrunning/Webhooks")).Webhooks),
  "webhook-endpoints": page(async () => (await import("~/features/staffrunning/Endpoints")).Endpoints),
  queues: page(async () => (await import("~/features/staffrunning/Queues")).QueuePage),
  settings: page(async () => (await import("~/features/staffrunning/Settings")).Settings),
  sections: page(async () => (await import("~/features/staffrunning/Sections")).Sections),
  catalog: page(async () => (await import("~/features/staffcatalog/PriceFile")).Catalog),
  "domain-prices": page(async () => (await import("~/features/staffcatalog/PriceFile")).DomainPrices),
  tax: page(async () => (await import("~/features/staffcatalog/TaxRules")).TaxRules),
  coupons: page(async () => (await import("~/features/staffcatalog/Coupons")).Coupons),
  currencies: page(async () => (await import("~/features/staffcatalog/Currencies")).Currencies),
  addons: page(async () => (await import("~/features/staffcatalog/Addons")).Addons),
  reviews: page(async () => (await import("~/features/staffcontent/Reviews")).Reviews),
  sla: page(async () => (await import("~/features/staffcontent/Sla")).Sla),
  incidents: page(async () => (await import("~/features/staffcontent/Incidents")).Incidents),
  announcements: page(async () => (await import("~/features/staffannouncements/AnnouncementList")).AnnouncementList),
  "announcements/*": page(
    async () => (await import("~/features/staffannouncements/AnnouncementPage")).AnnouncementPage,
  ),
  articles: page(async () => (await import("~/features/staffcontent/Articles")).Articles),
  "articles/*": page(async () => (await import("~/features/staffcontent/ArticlePage")).ArticlePage),
  templates: page(async () => (await import("~/features/staffcontent/Templates")).Templates),
  pictures: page(async () => (await import("~/features/staffcontent/Pictures")).Pictures),
  brand: page(async () => (await import("~/features/staffcompany/Brand")).Brand),
  mails: page(async () => (await import("~/features/staffcompany/MailList")).MailList),
  "mails/*": page(async () => (await import("~/features/staffcompany/MailPage")).MailPage),
  staff: page(async () => (await import("~/features/staffcompany/StaffList")).StaffList),
  audit: page(async () => (await import("~/features/staffcompany/Audit")).Audit),
  "canned-answers": page(async () => (await import("~/features/stafftickets/CannedAnswers")).CannedAnswers),
};

/** The page at an address, and the id in it. */
export function pageAt(path: string) {
  const address = path.replace(/\/+$/, "");
  if (Object.hasOwn(pages, address)) return { Page: pages[address as keyof typeof pages], id: "" };
  const [kind = "", id = "", ...more] = address.split("/");
  const pattern = `${kind}/*`;
  if (id === "" || more.length > 0 || !Object.hasOwn(pages, pattern)) return null;
  return { Page: pages[pattern as keyof typeof pages], id };
}
