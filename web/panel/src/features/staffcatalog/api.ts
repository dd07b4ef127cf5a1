import { queryOptions } from "@tanstack/react-query";

import { api, call } from "~/api/client";
import { allPages } from "~/api/pages";
import { staff, type Schemas } from "~/api/staff";
import { inLang } from "~/i18n/formats";

export type Change = Schemas["CatalogChange"];
export type Coupon = Schemas["AdminCoupon"];

/** The two files that say what is sold. */
export type Kind = "catalog" | "domain-prices";

export const file = (kind: Kind) =>
  queryOptions({
    queryKey: ["staff", kind],
    queryFn: ({ signal }) =>
      kind === "catalog"
        ? call(staff.GET("/api/v1/admin/catalog", { signal }))
        : call(staff.GET("/api/v1/admin/domain-prices", { signal })),
    staleTime: Infinity, // what is being edited must not change under the hands
  });

/** What a file would change, or with `live` what it has changed, as counts by name and what is taken off sale. */
export async function put(kind: Kind, text: string, live: boolean) {
  const params = { query: { dry_run: !live } };
  const report: Record<string, unknown> =
    kind === "catalog"
      ? await call(staff.PUT("/api/v1/admin/catalog", { params, body: { file: text } }))
      : await call(staff.PUT("/api/v1/admin/domain-prices", { params, body: { file: text } }));
  return report;
}

export const coupons = queryOptions({
  queryKey: ["staff", "coupons"],
  queryFn: ({ signal }) => call(staff.GET("/api/v1/admin/coupons", { signal })),
});
/** The plans that are sold, with the names by which coupons know them and what an order of the shortest period costs. */
export const plans = queryOptions({
  queryKey: ["staff", "plans"],
  queryFn: ({ signal }) => allPages((page) => call(api.GET("/api/v1/catalog", { params: { query: page }, signal }))),
  select: ({ data }) =>
    data.flatMap((product) =>
      product.plans.flatMap((plan) => {
        const [shortest] = plan.prices.toSorted((a, b) => a.period_months - b.period_months);
        if (!shortest) return [];
        const { usd_cents: price } = shortest.first_period_price ?? shortest.price;
        return [{ name: inLang(plan.name), names: [product.slug, plan.slug], price }];
      }),
    ),
});
export const createCoupon = (body: Schemas["StaffNewCouponBody"]) =>
  call(staff.POST("/api/v1/admin/coupons", { body }));
export const disableCoupon = (code: string) =>
  call(staff.POST("/api/v1/admin/coupons/{code}/disable", { params: { path: { code } } }));

export const currencies = queryOptions({
  queryKey: ["staff", "currencies"],
  queryFn: ({ signal }) => call(staff.GET("/api/v1/admin/currencies", { signal })),
});
export const setRate = (currency: string, rate: string) =>
  call(staff.PUT("/api/v1/admin/currencies/{currency}", { params: { path: { currency } }, body: { rate } }));

export const addons = queryOptions({
  queryKey: ["staff", "addons"],
  queryFn: ({ signal }) => call(staff.GET("/api/v1/admin/addons", { signal })),
});
export const makeAddon = (addon: number, value: string) =>
  call(staff.POST("/api/v1/admin/addons/{addon}/make", { params: { path: { addon } }, body: { value } }));
export const refuseAddon = (addon: number) =>
  call(staff.POST("/api/v1/admin/addons/{addon}/refuse", { params: { path: { addon } } }));

export type TaxRules = Schemas["InvoicesTaxRules"];
export type Taxed = TaxRules["rules"][number];
export type Amounts = Taxed["now"];

export const taxRules = queryOptions({
  queryKey: ["staff", "tax-rules"],
  queryFn: ({ signal }) => call(staff.GET("/api/v1/admin/tax-rules", { signal })),
  staleTime: Infinity, // what is being edited must not change under the hands
});

/** What a price becomes by a file, which holds from then on unless it is only tried. */
export const setTaxRules = (body: { file: string; reason?: string; valid_from?: string }, dryRun: boolean) =>
  call(staff.PUT("/api/v1/admin/tax-rules", { params: { query: { dry_run: dryRun } }, body }));
export const takeBackTaxRules = (version: number, reason: string) =>
  call(
    staff.DELETE("/api/v1/admin/tax-rules/{tax_rules}", {
      params: { path: { tax_rules: version }, query: { reason } },
    }),
  );
