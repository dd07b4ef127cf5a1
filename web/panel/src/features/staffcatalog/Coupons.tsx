import { Code, Text } from "@mantine/core";
import { IconTicket } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";

import { number, percent } from "~/i18n/formats";
import { DataTable } from "~/ui/DataTable";
import { Empty } from "~/ui/Empty";
import { Load } from "~/ui/Load";
import { done } from "~/ui/notice";
import { PageHeader } from "~/ui/PageHeader";
import { Act } from "~/ui/staff/Act";
import { t as shared } from "~/ui/staff/texts";
import { usd } from "~/ui/staff/usd";
import { Status } from "~/ui/Status";
import { When } from "~/ui/When";

import { coupons, createCoupon, disableCoupon, plans, type Coupon } from "./api";
import { couponState, namesIn, offOf, priceAfter, type Off } from "./off";
import { t } from "./texts";

const worth = (row: Coupon) =>
  row.percent_basis_points ? percent(row.percent_basis_points / 10_000, 2) : usd(row.amount_usd_cents ?? 0);

/** What a coupon would make of the prices of what is sold: the shortest period of each plan that it is for. */
function PricesAfter({ off, of }: { off: Off; of: string }) {
  const { data } = useQuery(plans);
  const chosen = namesIn(of);
  const shown = (data ?? []).filter((plan) => chosen.length === 0 || chosen.some((name) => plan.names.includes(name)));
  if (shown.length === 0) return null;
  return (
    <div role="status">
      <Text size="sm" fw={600}>
        {t("coupons.after")}
      </Text>
      {shown.slice(0, 5).map((plan) => (
        <Text key={plan.name} size="sm">
          {plan.name}: {usd(plan.price)} → {usd(priceAfter(plan.price, off))}
        </Text>
      ))}
    </div>
  );
}

export function Coupons() {
  const query = useQuery(coupons);
  const now = new Date(query.dataUpdatedAt);
  const queries = useQueryClient();
  const changed = async (message: string) => {
    await queries.invalidateQueries({ queryKey: ["staff", "coupons"] });
    done(message);
  };
  const add = (
    <Act
      operation="staff.coupons.create"
      label={t("coupons.new")}
      text={t("coupons.new.text")}
      choice={{
        label: t("coupons.kind"),
        options: [
          { value: "percent", label: t("coupons.percent") },
          { value: "amount", label: t("coupons.amount") },
        ],
      }}
      after={({ choice, fields }) =>
        choice && <PricesAfter off={offOf(choice, fields.off ?? "")} of={fields.products ?? ""} />
      }
      fields={[
        { name: "code", label: t("coupons.code") },
        { name: "off", label: t("coupons.off"), hint: t("coupons.off.hint") },
        { name: "total", label: t("coupons.max_total"), hint: t("coupons.unbound"), type: "number", optional: true },
        { name: "each", label: t("coupons.max_each"), hint: t("coupons.unbound"), type: "number", optional: true },
        { name: "products", label: t("coupons.products"), hint: t("coupons.products.hint"), optional: true },
        { name: "ends", label: t("coupons.ends"), type: "datetime-local", optional: true },
        { name: "note", label: t("coupons.note"), optional: true },
      ]}
      act={async ({ choice, fields }) => {
        const made = await createCoupon({
          code: fields.code ?? "",
          ...offOf(choice, fields.off ?? ""),
          max_total: Number(fields.total) || undefined,
          max_each: Number(fields.each) || undefined,
          products: fields.products ? namesIn(fields.products) : undefined,
          ends_at: fields.ends ? new Date(fields.ends).toISOString() : undefined,
          note: fields.note || undefined,
        });
        await changed(t("coupons.made", { code: made.code }));
      }}
    />
  );
  return (
    <>
      <PageHeader title={t("coupons.title")} description={t("coupons.description")} actions={add} />
      <Load query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty icon={IconTicket} title={t("coupons.none")} text={t("coupons.none.text")} action={add} />
          ) : (
            <DataTable
              caption={t("coupons.title")}
              rows={data}
              rowKey={(row) => row.code}
              columns={[
                { key: "code", label: t("coupons.code"), render: (row) => <Code>{row.code}</Code> },
                { key: "worth", label: t("coupons.worth"), right: true, render: worth },
                {
                  key: "state",
                  label: shared("column.status"),
                  render: (row) => {
                    const state = couponState(row, now);
                    return <Status tone={state === "valid" ? "good" : "neutral"} label={t(`coupons.${state}`)} />;
                  },
                },
                {
                  key: "redeemed",
                  label: t("coupons.redeemed"),
                  right: true,
                  render: (row) => number(row.redeemed) + (row.max_total ? ` / ${number(row.max_total)}` : ""),
                },
                {
                  key: "given",
                  label: t("coupons.given"),
                  right: true,
                  render: (row) => usd(row.discount_usd_cents),
                },
                {
                  key: "ends",
                  label: t("coupons.ends"),
                  render: (row) => (row.ends_at ? <When time={row.ends_at} /> : "–"),
                },
                { key: "note", label: t("coupons.note"), render: (row) => row.note || "–" },
                {
                  key: "actions",
                  label: shared("column.actions"),
                  actions: true,
                  render: (row) =>
                    !row.disabled_at && (
                      <Act
                        operation="staff.coupons.disable"
                        label={t("coupons.end")}
                        size="compact-sm"
                        text={t("coupons.end.text", { code: row.code })}
                        danger
                        act={async () => {
                          await disableCoupon(row.code);
                          await changed(t("coupons.ended", { code: row.code }));
                        }}
                      />
                    ),
                },
              ]}
            />
          )
        }
      </Load>
    </>
  );
}
