import {
  Alert,
  Autocomplete,
  Button,
  Divider,
  Grid,
  Group,
  Radio,
  SimpleGrid,
  Stack,
  Switch,
  Text,
  TextInput,
} from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useRef, useState } from "react";

import { newKey } from "~/api/client";
import { ApiFailure } from "~/api/failure";
import { inLang, megabytes, money, number, percent } from "~/i18n/formats";
import { useAction } from "~/ui/action";
import { cleanDomain } from "~/ui/domainname";
import { ErrorNote } from "~/ui/ErrorNote";
import { Load } from "~/ui/Load";
import { done } from "~/ui/notice";
import { SectionCard } from "~/ui/SectionCard";

import { catalog, clients, createService, me, quote, type World } from "./api";
import { Frame } from "./Frame";
import { Lacking, Refusal } from "./Refusal";
import { backTo, leftOf, planOf, plansOf, priceOf, type Plan, type Price, type Sale } from "./sale";
import classes from "./Sell.module.css";
import { t } from "./texts";

interface Props {
  sale: Sale;
  onSale: (next: Sale) => void;
}

/** Selling a service to a client: whose it is, what it is, and what the reseller pays, before it is paid. */
export function Sell({ sale, onSale }: Props) {
  const world = sale.world ?? "live";
  const sold = useQuery(catalog(world));
  const own = useQuery(me(world));
  return (
    <Frame
      page="/reseller/new"
      world={world}
      onWorld={(next) => onSale({ ...sale, world: next === "sandbox" ? next : undefined })}
    >
      {own.error && <ErrorNote error={own.error} />}
      <Load query={sold}>
        {({ data }) => {
          const plans = plansOf(data);
          const plan = planOf(plans, sale.plan);
          const price = plan && priceOf(plan, sale.period);
          if (!plan || !price || !own.data) return own.data && <Alert color="blue" title={t("sell.nothing")} />;
          return (
            <Form
              key={world}
              world={world}
              renews={own.data.auto_renew}
              plans={plans}
              plan={plan}
              price={price}
              sale={sale}
              onSale={onSale}
            />
          );
        }}
      </Load>
    </Frame>
  );
}

interface FormProps extends Props {
  world: World;
  /** Whether services renew by themselves when nothing is said. */
  renews: boolean;
  plans: Plan[];
  plan: Plan;
  price: Price;
}

function Form({ world, renews, plans, plan, price, sale, onSale }: FormProps) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [client, setClient] = useState(sale.client_ref ?? "");
  const [typed, setTyped] = useState(sale.domain ?? "");
  const [label, setLabel] = useState("");
  const [autoRenew, setAutoRenew] = useState(renews);
  const [problems, setProblems] = useState<Record<string, string>>({});
  const intent = useRef({ of: "", key: "" });
  const domainField = useRef<HTMLInputElement>(null);
  const clientField = useRef<HTMLInputElement>(null);
  const known = useQuery(clients(world, client.trim()));
  const cost = useQuery(quote(world, plan.id, price.period_months));
  const chosen: Sale = { ...sale, domain: cleanDomain(typed) || undefined, client_ref: client.trim() || undefined };
  const set = (part: Partial<Sale>) => onSale({ ...chosen, ...part });

  const explain = (failure: unknown) => {
    void cost.refetch(); // the price or the balance may be another one now
    if (!(failure instanceof ApiFailure)) return failure;
    const texts = Object.fromEntries(Object.entries(failure.fields).map(([name, all]) => [name, all.join(" ")]));
    if (failure.key === "client_ref_too_long") texts.client_ref ??= failure.message;
    if (failure.key === "domain_invalid" || failure.key === "domain_unavailable") texts.domain ??= failure.message;
    setProblems(texts);
    if (!texts.client_ref && !texts.domain) return failure;
    (texts.client_ref ? clientField : domainField).current?.focus();
    return null;
  };
  const [send, { busy, error, clear }] = useAction(async () => {
    const body = {
      plan_id: plan.id,
      period_months: price.period_months,
      domain: cleanDomain(typed),
      auto_renew: autoRenew,
      ...(client.trim() ? { client_ref: client.trim() } : {}),
      ...(label.trim() ? { label: label.trim() } : {}),
    };
    const wish = JSON.stringify(body);
    if (intent.current.of !== wish) intent.current = { of: wish, key: newKey() };
    const made = await createService(world, body, intent.current.key);
    await Promise.all([
      queries.invalidateQueries({ queryKey: ["reseller", world] }),
      queries.invalidateQueries({ queryKey: ["wallet"] }),
      queries.invalidateQueries({ queryKey: ["services"] }),
    ]);
    done(t("service.made"));
    await navigate({
      to: "/reseller/services/$resold",
      params: { resold: String(made.id) },
      search: { world: sale.world },
    });
  }, explain);
  const submit = async () => {
    setProblems({});
    if (cleanDomain(typed) === "") {
      setProblems({ domain: t("sell.domain_missing") });
      domainField.current?.focus();
      return;
    }
    await send();
  };

  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <Grid gap="lg">
        <Grid.Col span={{ base: 12, md: 8 }}>
          <Stack gap="lg">
            <SectionCard id="sell-client" title={`1. ${t("sell.client")}`}>
              <Stack>
                <Autocomplete
                  ref={clientField}
                  label={t("sell.client_ref")}
                  description={t("sell.client_ref_hint")}
                  data={(known.data?.data ?? []).map((one) => one.client_ref)}
                  filter={({ options }) => options} // the server has chosen
                  value={client}
                  error={problems.client_ref}
                  maxLength={64}
                  autoComplete="off"
                  spellCheck={false}
                  onChange={setClient}
                  onBlur={() => client.trim() !== (sale.client_ref ?? "") && set({})}
                />
                <TextInput
                  label={t("sell.label")}
                  description={t("sell.label_hint")}
                  value={label}
                  maxLength={100}
                  autoComplete="off"
                  onChange={(event) => setLabel(event.currentTarget.value)}
                />
              </Stack>
            </SectionCard>
            <SectionCard id="sell-plan" title={`2. ${t("sell.plan")}`}>
              <Stack>
                <Plans plans={plans} plan={plan} onPlan={(slug) => set({ plan: slug })} />
                <Radio.Group
                  label={t("sell.period")}
                  value={String(price.period_months)}
                  onChange={(months) => set({ period: Number(months) })}
                >
                  <Stack gap="xs" mt={4}>
                    {plan.prices.map((one) => (
                      <Radio
                        key={one.period_months}
                        value={String(one.period_months)}
                        label={`${t("months", { count: one.period_months })}: ${money(one.wholesale)}`}
                        description={t("sell.retail", { price: money(one.retail) })}
                      />
                    ))}
                  </Stack>
                </Radio.Group>
                <Switch
                  label={t("auto")}
                  description={t("auto.text")}
                  checked={autoRenew}
                  onChange={(event) => setAutoRenew(event.currentTarget.checked)}
                />
              </Stack>
            </SectionCard>
            <SectionCard id="sell-domain" title={`3. ${t("service.domain")}`}>
              <TextInput
                ref={domainField}
                label={t("service.domain")}
                description={t(world === "live" ? "sell.domain_hint" : "sell.domain_sandbox")}
                placeholder="example.com"
                inputMode="url"
                autoCapitalize="none"
                autoComplete="off"
                spellCheck={false}
                value={typed}
                error={problems.domain}
                onChange={(event) => setTyped(event.currentTarget.value)}
                onBlur={() => cleanDomain(typed) !== (sale.domain ?? "") && set({})}
              />
            </SectionCard>
          </Stack>
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 4 }}>
          <SectionCard id="sell-cost" title={t("sell.cost")} className={classes.summary}>
            <Load query={cost}>
              {(sums) => {
                const left = leftOf(price);
                const item = sums.items[0];
                return (
                  <Stack gap="xs">
                    {item && <Line label={item.title} value={money(item.unit_price)} />}
                    {item && item.setup.usd_cents > 0 && <Line label={t("sell.setup")} value={money(item.setup)} />}
                    {sums.discount.usd_cents > 0 && (
                      <Line label={t("sell.discount")} value={`−${money(sums.discount)}`} />
                    )}
                    {sums.tax.usd_cents > 0 && <Line label={t("sell.tax")} value={money(sums.tax)} />}
                    <Divider />
                    <Line label={t("column.cost")} value={money(sums.total)} strong />
                    <Line label={t("figure.balance")} value={money(sums.balance)} />
                    {left && (
                      <Line
                        label={t("column.margin")}
                        value={
                          money(left) +
                          (price.retail.usd_cents > 0 ? ` (${percent(left.usd_cents / price.retail.usd_cents)})` : "")
                        }
                      />
                    )}
                    {!sums.covered && (
                      <Lacking
                        title={t("sell.lacks", { amount: money(sums.missing) })}
                        cents={sums.missing.usd_cents}
                        world={world}
                        back={backTo({ ...chosen, plan: plan.slug, period: price.period_months })}
                      />
                    )}
                    {/* What the wallet lacks is said above, by the newest balance. */}
                    {(sums.covered || !(error instanceof ApiFailure && error.key === "insufficient_funds")) && (
                      <Refusal error={error} world={world} back={backTo(chosen)} onProven={clear} />
                    )}
                    <Button type="submit" size="md" loading={busy} fullWidth mt="xs">
                      {t("sell.pay", { amount: money(sums.total) })}
                    </Button>
                    <Text size="sm" c="dimmed">
                      {t(world === "live" ? "sell.pay_hint" : "sell.pay_sandbox")}
                    </Text>
                  </Stack>
                );
              }}
            </Load>
          </SectionCard>
        </Grid.Col>
      </Grid>
    </form>
  );
}

const amount = (value: number, text: (value: number) => string) =>
  value < 0 ? t("unlimited") : value === 0 ? "–" : text(value);

function Plans({ plans, plan, onPlan }: { plans: Plan[]; plan: Plan; onPlan: (slug: string) => void }) {
  return (
    <Radio.Group
      label={t("sell.plan")}
      labelProps={{ className: "visually-hidden" }}
      value={plan.slug}
      onChange={onPlan}
    >
      <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }} spacing="sm">
        {plans.map((one) => (
          <Radio.Card key={one.id} value={one.slug} p="sm" className={classes.card}>
            <Group gap="xs" wrap="nowrap" align="flex-start">
              <Radio.Indicator mt={2} />
              <div>
                <Text fw={600}>{inLang(one.name)}</Text>
                <Text size="sm" c="dimmed">
                  {t("limit.disk")}: {amount(one.limits.disk_mb, megabytes)}
                  <br />
                  {t("limit.sites")}: {amount(one.limits.sites, number)}
                  <br />
                  {t("limit.mailboxes")}: {amount(one.limits.mailboxes, number)}
                  {one.locations.length > 0 && (
                    <>
                      <br />
                      {t("limit.location")}: {one.locations.join(", ")}
                    </>
                  )}
                </Text>
              </div>
            </Group>
          </Radio.Card>
        ))}
      </SimpleGrid>
    </Radio.Group>
  );
}

function Line({ label, value, strong }: { label: string; value: string; strong?: boolean }) {
  return (
    <Group justify="space-between" wrap="nowrap" align="flex-start">
      <Text fw={strong ? 700 : undefined}>{label}</Text>
      <Text fw={strong ? 700 : undefined} ta="right">
        {value}
      </Text>
    </Group>
  );
}
