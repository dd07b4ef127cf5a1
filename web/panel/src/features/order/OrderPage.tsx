import { Alert, Anchor, Button, Card, Divider, Grid, Group, Loader, Stack, Text, Title } from "@mantine/core";
import { IconCheck, IconCircleDashed } from "@tabler/icons-react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useState, type ReactNode } from "react";

import { AnchorLink } from "~/ui/AnchorLink";
import { addressOf } from "~/api/client";
import { ApiFailure } from "~/api/failure";
import { gross, inLang, less, money, sum, times } from "~/i18n/formats";
import { billing, type Profile } from "~/ui/billing";
import { Confirm } from "~/ui/Confirm";
import { tidy } from "~/ui/contact/contact";
import { ContactFields, useContactForm } from "~/ui/contact/ContactFields";
import { ErrorNote } from "~/ui/ErrorNote";
import { Load } from "~/ui/Load";
import { done } from "~/ui/notice";
import { PageHeader } from "~/ui/PageHeader";
import { Refusal } from "~/ui/proof/Refusal";
import { SectionCard } from "~/ui/SectionCard";
import { TaxNote } from "~/ui/TaxNote";
import { TopUp } from "~/ui/topup/TopUp";
import { TopupState } from "~/ui/topup/TopupState";
import { When } from "~/ui/When";

import {
  addonCatalog,
  buyAddon,
  cancelOrder,
  domainCheck,
  domainsLike,
  isMoving,
  offers,
  order,
  orderedService,
  payOrder,
  registerDomain,
  wallet,
  type DomainCheck,
  type Order,
} from "./api";
import { addonPrice, isAgreed, isHeld, readAddons, registrationOf } from "./choice";
import type { Choice } from "./search";
import { OrderStatus } from "./status";
import { t } from "./texts";

/** What belongs to an order beside its own items; it stands in the address. */
export interface Extras {
  /** Extras that are added when the service stands: "extra_disk:2". */
  addons?: string;
  /** The domain of the order is to be registered with it. */
  register?: boolean;
  /** The top-up that led back here. */
  topup?: number;
}

export function OrderPage({ id, extras }: { id: number; extras: Extras }) {
  const query = useQuery(order(id));
  const tax = useQuery(billing);
  return (
    <Load query={query}>
      {(data) => (
        <>
          <PageHeader
            title={t("order", { number: data.number })}
            aside={<OrderStatus status={data.status} />}
            description={
              <>
                {t("order.made")} <When time={data.created_at} />
              </>
            }
          />
          <Stack>
            {extras.topup && data.status === "pending" && <TopupState id={extras.topup} />}
            <Grid gap="lg">
              <Grid.Col span={{ base: 12, md: 7 }}>
                <Stack>
                  {data.status !== "pending" && <Outcome order={data} extras={extras} />}
                  <Items order={data} />
                  <Papers order={data} />
                </Stack>
              </Grid.Col>
              {data.status === "pending" && (
                <Grid.Col span={{ base: 12, md: 5 }}>
                  <Load query={tax}>{(by) => <Payment order={data} extras={extras} by={by} />}</Load>
                </Grid.Col>
              )}
            </Grid>
          </Stack>
        </>
      )}
    </Load>
  );
}

function Items({ order }: { order: Order }) {
  return (
    <Card withBorder>
      <Stack gap="xs">
        {order.items.map((item) => (
          <Line
            key={item.id}
            label={
              <>
                {item.title}
                {item.quantity > 1 && ` × ${item.quantity}`}
                <Text size="sm" c="dimmed" style={{ overflowWrap: "anywhere" }}>
                  {[item.domain, item.period_months && t("months", { count: item.period_months })]
                    .filter(Boolean)
                    .join(" · ")}
                  {item.discount.usd_cents > 0 && (
                    <>
                      <br />
                      {t("item.first", { price: money(item.unit_price) })}
                    </>
                  )}
                </Text>
              </>
            }
            value={money(item.total)}
          />
        ))}
        <Divider />
        {order.subtotal.usd_cents !== order.total.usd_cents && (
          <Line label={t("subtotal")} value={money(order.subtotal)} />
        )}
        {order.discount.usd_cents > 0 && (
          <Line
            label={order.coupon_code ? t("discount_coupon", { code: order.coupon_code }) : t("discount")}
            value={money(times(order.discount, -1))}
          />
        )}
        {order.tax.usd_cents > 0 && <Line label={t("tax")} value={money(order.tax)} />}
        {order.tax_included.usd_cents > 0 && <Line label={t("tax_included")} value={money(order.tax_included)} />}
        <Line label={t("total")} value={money(order.total)} strong />
        {order.refunded.usd_cents > 0 && <Line label={t("refunded")} value={money(order.refunded)} />}
      </Stack>
    </Card>
  );
}

function Line({ label, value, strong }: { label: ReactNode; value: string; strong?: boolean }) {
  return (
    <Group justify="space-between" wrap="nowrap" gap="md" align="flex-start">
      <Text component="div" fw={strong ? 700 : undefined}>
        {label}
      </Text>
      <Text fw={strong ? 700 : undefined} ta="right">
        {value}
      </Text>
    </Group>
  );
}

function Papers({ order }: { order: Order }) {
  const queries = useQueryClient();
  const cancel = async () => {
    await cancelOrder(order.id);
    await Promise.all([
      queries.invalidateQueries({ queryKey: ["order", order.id] }),
      queries.invalidateQueries({ queryKey: ["orders"] }),
    ]);
    done(t("cancelled.done"));
  };
  return (
    <Group>
      {order.status === "pending" && (
        <>
          <Anchor href={addressOf(`/api/v1/orders/${order.id}/proforma`, { format: "pdf" })} target="_blank">
            {t("proforma")}
          </Anchor>
          <Confirm label={t("cancel")} title={t("cancel")} text={t("cancel.text")} action={cancel} size="compact-sm" />
        </>
      )}
      {order.invoice_id && (
        <Anchor component={Link} to={`/invoices/${order.invoice_id}`}>
          {t("invoice")}
        </Anchor>
      )}
      {order.kind === "new" && ["cancelled", "expired", "failed", "refunded"].includes(order.status) && (
        <AnchorLink to="/order" search={choiceOf(order)}>
          {t("again")}
        </AnchorLink>
      )}
    </Group>
  );
}

/** What was ordered, to order it again. */
function choiceOf(order: Order): Choice {
  const item = order.items[0];
  return {
    plan: item?.plan_id ? String(item.plan_id) : undefined,
    period: item?.period_months ?? undefined,
    domain: item?.domain ?? undefined,
  };
}

/** Refusals after which the registry is asked again: the domain may have another price, or be taken. */
const asksAgain = (failure: unknown) =>
  failure instanceof ApiFailure && (failure.key === "price_changed" || failure.key === "domain_unavailable");

/** Paying from the wallet: the sum, what is missing, and the way to pay that in. */
function Payment({ order, extras, by }: { order: Order; extras: Extras; by: Profile }) {
  const queries = useQueryClient();
  const balance = useQuery(wallet);
  const known = useQuery({ ...addonCatalog, enabled: Boolean(extras.addons) });
  const domain = (extras.register && order.items[0]?.domain) || "";
  const check = useQuery(domainCheck(domain));
  const own = useQuery(domainsLike(check.data?.domain ?? ""));
  const [registered, setRegistered] = useState(false);
  const contact = useContactForm();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const wanted = readAddons(extras.addons);
  const months = order.items[0]?.period_months ?? 1;
  const addons = (known.data?.data ?? []).flatMap((one) => {
    const cost = wanted[one.key] ? addonPrice(one, months) : undefined;
    return cost ? [times(cost.price, cost.count * (wanted[one.key] ?? 1))] : [];
  });
  const state = registrationOf(domain, registered || isHeld(own.data?.data ?? [], check.data?.domain), check.data);
  const registration = typeof state === "string" ? null : state;
  const zero = times(order.total, 0);
  const counting = known.isLoading || check.isLoading || own.isLoading;

  const pay = async () => {
    setBusy(true);
    setError(null);
    try {
      if (registration) {
        await registerDomain(order.id, {
          domain,
          contact: tidy(contact.getValues()),
          expected_usd_cents: registration.usd_cents,
        });
        setRegistered(true);
        void queries.invalidateQueries({ queryKey: ["domains"] });
      }
      const paid = await payOrder(order.id);
      sessionStorage.setItem(agreedHere(order.id), String(sum(zero, ...addons).usd_cents));
      queries.setQueryData(["order", order.id], paid);
      void queries.invalidateQueries({ queryKey: ["wallet"] });
      void queries.invalidateQueries({ queryKey: ["orders"] });
      void queries.invalidateQueries({ queryKey: ["services"] });
      done(t("pay.done"));
    } catch (failure) {
      setError(failure);
      if (registration && asksAgain(failure)) await check.refetch();
      await queries.invalidateQueries({ queryKey: ["wallet"] });
    } finally {
      setBusy(false);
    }
  };

  return (
    <SectionCard id="order-pay" title={t("pay.title")}>
      <Load query={balance}>
        {({ available }) => {
          const registering = registration ? gross(registration, by) : zero;
          const adding = sum(zero, ...addons.map((one) => gross(one, by)));
          const total = sum(order.total, registering, adding);
          const net = sum(less(order.total, order.tax), ...addons, ...(registration ? [registration] : []));
          const missing = total.usd_cents - available.usd_cents;
          return (
            <Stack gap="sm">
              {total.usd_cents > order.total.usd_cents && (
                <>
                  <Line label={t("total")} value={money(order.total)} />
                  {registration && <Line label={t("pay.domain", { domain })} value={money(registering)} />}
                  {addons.length > 0 && <Line label={t("pay.addons")} value={money(adding)} />}
                  <Line label={t("pay.together")} value={money(total)} strong />
                  <TaxNote tax={less(total, net)} name={by.tax_name} />
                </>
              )}
              <Line label={t("pay.available")} value={money(available)} />
              {state === "open" && !counting ? (
                <>
                  <Refusal error={error} onProven={() => setError(null)} />
                  <Alert color="orange" role="alert" title={t(reasonOf(check.data), { domain })}>
                    {t("pay.domain_open")}
                  </Alert>
                  <Button variant="light" loading={check.isFetching} onClick={() => void check.refetch()}>
                    {t("pay.domain_again")}
                  </Button>
                  <Button
                    component={Link}
                    to={backTo(order.id, { ...extras, register: undefined })}
                    replace
                    variant="default"
                  >
                    {t("pay.domain_without")}
                  </Button>
                  <Button size="md" fullWidth disabled>
                    {t("pay.now", { amount: money(total) })}
                  </Button>
                </>
              ) : missing > 0 ? (
                <>
                  <Text fw={600}>{t("pay.missing", { amount: money(less(total, available)) })}</Text>
                  <Text size="sm" c="dimmed">
                    {t("pay.missing_text")}
                  </Text>
                  <TopUp key={missing} cents={missing} back={backTo(order.id, extras)} fixed />
                </>
              ) : (
                <form onSubmit={contact.onSubmit(() => void pay())} noValidate>
                  <Stack>
                    {registration && (
                      <>
                        <Title order={3} size="h4">
                          {t("owner", { domain })}
                        </Title>
                        <Text size="sm" c="dimmed">
                          {t("owner.text")}
                        </Text>
                        <ContactFields form={contact} />
                      </>
                    )}
                    <Refusal error={error} onProven={() => setError(null)} />
                    <Button
                      size="md"
                      fullWidth
                      loading={busy || counting}
                      type={registration ? "submit" : "button"}
                      onClick={registration ? undefined : () => void pay()}
                    >
                      {t("pay.now", { amount: money(total) })}
                    </Button>
                  </Stack>
                </form>
              )}
              <Text size="sm" c="dimmed">
                {t("order.until")} <When time={order.expires_at} form="day" />
              </Text>
            </Stack>
          );
        }}
      </Load>
    </SectionCard>
  );
}

/** Why a domain cannot be registered now. */
const reasonOf = (check?: DomainCheck) => `domain.reason.${check?.reason ?? "lookup_failed"}` as const;

/** The address to which the payment page leads back, with everything that was chosen. */
function backTo(id: number, extras: Extras): string {
  const search = new URLSearchParams();
  if (extras.addons) search.set("addons", extras.addons);
  if (extras.register) search.set("register", "1");
  const query = search.toString();
  return `/orders/${id}${query && `?${query}`}`;
}

/** Remembers what was agreed to for the extras when this browser paid the order: they follow without another question. */
const agreedHere = (id: number) => `stead.agreed.${id}`;

/** What became of an order that was paid or ended. */
function Outcome({ order, extras }: { order: Order; extras: Extras }) {
  const moving = isMoving(order);
  const service = useQuery({
    ...orderedService(order.service_id ?? 0, moving),
    enabled: order.service_id !== null && (moving || order.status === "completed"),
  });
  if (order.status === "failed" || order.status === "refunded") {
    return <Alert color={order.status === "failed" ? "red" : "gray"} title={t("money_back")} />;
  }
  if (!moving && order.status !== "completed") return null;
  const stands = order.status === "completed";
  const site = service.data;
  const hosting =
    order.kind === "new" || order.kind === "addon" || order.kind === "tariff_change" || order.kind === "renewal";
  return (
    <>
      <Card withBorder aria-live="polite">
        <Stack gap="sm">
          <Text fw={700} size="lg">
            {stands ? t(order.kind === "new" ? "completed" : "completed.other") : t("progress")}
          </Text>
          {order.kind === "new" && (
            <Stack gap={6}>
              <Stage state="done" label={t("progress.paid")} />
              <Stage state={stands ? "done" : "now"} label={t(stands ? "progress.made" : "progress.making")} />
              <Stage state={stands ? "done" : "later"} label={t("progress.serving")} />
            </Stack>
          )}
          {moving && (
            <Text size="sm" c="dimmed">
              {t("progress.wait")}
            </Text>
          )}
          {stands && hosting && order.service_id && (
            <Group>
              <Button component={Link} to={`/services/${order.service_id}`}>
                {t("open_service")}
              </Button>
              {site?.origin_url && (
                <Button component="a" href={site.origin_url} target="_blank" rel="noreferrer" variant="default">
                  {t("open_site")}
                </Button>
              )}
            </Group>
          )}
          {stands && !hosting && order.items[0]?.domain_id && (
            <Group>
              <Button component={Link} to={`/domains/${order.items[0].domain_id}`}>
                {t("open_domain")}
              </Button>
            </Group>
          )}
          {stands && order.kind === "new" && site?.origin_url && (
            <Text size="sm" c="dimmed" style={{ overflowWrap: "anywhere" }}>
              {t("preview")} {site.origin_url}
            </Text>
          )}
        </Stack>
      </Card>
      {stands && order.service_id && extras.addons && (
        <ChosenAddons order={order.id} service={order.service_id} chosen={extras.addons} />
      )}
    </>
  );
}

function Stage({ state, label }: { state: "done" | "now" | "later"; label: string }) {
  return (
    <Group gap="xs" wrap="nowrap">
      {state === "done" ? (
        <IconCheck size={18} color="var(--status-good)" aria-hidden />
      ) : state === "now" ? (
        <Loader size={18} aria-hidden />
      ) : (
        <IconCircleDashed size={18} aria-hidden />
      )}
      <Text c={state === "later" ? "dimmed" : undefined}>{label}</Text>
    </Group>
  );
}

/** The extras that were chosen with the order: they follow by themselves once, when they cost no more than was agreed to here. */
function ChosenAddons({ order, service, chosen }: { order: number; service: number; chosen: string }) {
  const queries = useQueryClient();
  const query = useQuery(offers(service));
  const tax = useQuery(billing);
  const wanted = readAddons(chosen);
  const offered = (query.data?.data ?? []).filter(
    (one) => (wanted[one.key] ?? 0) > 0 && one.left >= (wanted[one.key] ?? 0),
  );
  const cost = offered.map((one) => times(one.charge, wanted[one.key] ?? 1));
  const { mutate, status, error } = useMutation({
    mutationFn: async () => {
      for (const one of offered) {
        const quantity = wanted[one.key] ?? 1;
        await buyAddon(order, service, { key: one.key, quantity, expected_usd_cents: one.charge.usd_cents * quantity });
      }
    },
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ["service", service] });
      await queries.invalidateQueries({ queryKey: ["wallet"] });
    },
  });
  const ready = query.data !== undefined;
  useEffect(() => {
    if (!ready || offered.length === 0) return;
    const agreed = sessionStorage.getItem(agreedHere(order));
    sessionStorage.removeItem(agreedHere(order));
    if (isAgreed(cost, agreed)) mutate();
    // Once, when the offers are there.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [ready]);
  const by = tax.data;
  const [first, ...rest] = by ? cost.map((one) => gross(one, by)) : [];
  return (
    <Card withBorder>
      <Stack gap="sm">
        <Text fw={600}>{t("addons.title")}</Text>
        <Text>{Object.keys(wanted).length > 0 && offered.map((one) => inLang(one.name)).join(", ")}</Text>
        <ErrorNote error={error ?? tax.error} />
        {status === "idle" && first && <Text size="sm">{t("addons.ask")}</Text>}
        {status === "success" ? (
          <Text c="var(--status-good)">{t("addons.done")}</Text>
        ) : first ? (
          <Group>
            <Button variant="light" loading={status === "pending"} onClick={() => mutate()}>
              {t("addons.add", { amount: money(sum(first, ...rest)) })}
            </Button>
          </Group>
        ) : (
          ready && cost.length === 0 && <Text c="dimmed">{t("addons.none")}</Text>
        )}
      </Stack>
    </Card>
  );
}
