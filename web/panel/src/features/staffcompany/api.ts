import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";

import { addressOf, call } from "~/api/client";
import { staff, type Schemas } from "~/api/staff";

export type Entry = Schemas["AuditShown"];
export type Role = Schemas["StaffRoleBody"]["role"];
export const roles: Role[] = ["owner", "billing", "support", "technician", "read_only"];

export const setRole = (account: number, role: Role) =>
  call(staff.PUT("/api/v1/admin/staff/{account}", { params: { path: { account } }, body: { role } }));
export const removeStaff = (account: number) =>
  call(staff.DELETE("/api/v1/admin/staff/{account}", { params: { path: { account } } }));

/** Finds the account of an address, whole. */
export async function accountOf(email: string) {
  const { data } = await call(staff.GET("/api/v1/admin/customers", { params: { query: { q: email } } }));
  return data.find((one) => one.email === email.toLowerCase());
}

interface AuditFilter {
  account_id?: number;
  action?: string;
  request_id?: string;
}

export const audit = (filter: AuditFilter) =>
  infiniteQueryOptions({
    queryKey: ["staff", "audit", filter],
    initialPageParam: undefined as number | undefined,
    queryFn: ({ pageParam, signal }) =>
      call(staff.GET("/api/v1/admin/audit", { params: { query: { ...filter, cursor: pageParam } }, signal })),
    getNextPageParam: (last) => last.next_cursor ?? undefined,
  });

/** The address of the log as a file. */
export const exportOf = ({ account_id, action, request_id }: AuditFilter, format: "csv" | "ndjson") =>
  addressOf("/api/v1/admin/audit/export", {
    format,
    ...(account_id ? { account_id: String(account_id) } : {}),
    ...(action ? { action } : {}),
    ...(request_id ? { request_id } : {}),
  });

export type Company = Schemas["Company"];

/** How the company shows itself. */
export const company = queryOptions({
  queryKey: ["staff", "company"],
  queryFn: ({ signal }) => call(staff.GET("/api/v1/admin/company", { signal })),
});

export const changeCompany = (body: Schemas["CompanyChangeBody"]) => call(staff.PUT("/api/v1/admin/company", { body }));

export type Mail = Schemas["CompanyMail"];
export type MailLanguage = Mail["language"];

/** The kinds of mails. */
export const mails = queryOptions({
  queryKey: ["staff", "mails"],
  queryFn: ({ signal }) => call(staff.GET("/api/v1/admin/mails", { signal })),
});

const mailAt = (kind: string, language: MailLanguage) => ({ path: { mail: kind, language } });

/** What a kind of mail says in a language. */
export const mail = (kind: string, language: MailLanguage) =>
  queryOptions({
    queryKey: ["staff", "mails", kind, language],
    queryFn: ({ signal }) =>
      call(staff.GET("/api/v1/admin/mails/{mail}/{language}", { params: mailAt(kind, language), signal })),
  });

export const changeMail = (kind: string, language: MailLanguage, body: Mail["live"], dryRun: boolean) =>
  call(
    staff.PUT("/api/v1/admin/mails/{mail}/{language}", {
      params: { ...mailAt(kind, language), query: { dry_run: dryRun } },
      body,
    }),
  );
export const resetMail = (kind: string, language: MailLanguage) =>
  call(staff.DELETE("/api/v1/admin/mails/{mail}/{language}", { params: mailAt(kind, language) }));
export const sendTestMail = (kind: string, language: MailLanguage) =>
  call(staff.POST("/api/v1/admin/mails/{mail}/{language}/test", { params: mailAt(kind, language) }));
