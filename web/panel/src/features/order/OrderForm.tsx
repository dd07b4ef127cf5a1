import {
  Alert,
  Anchor,
  Badge,
  Button,
  Checkbox,
  Collapse,
  Divider,
  Grid,
  Group,
  NumberInput,
  Radio,
  ScrollArea,
  SegmentedControl,
  SimpleGrid,
  Stack,
  Table,
  Text,
  TextInput,
} from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useRef, useState, type ReactNode } from "react";

import { ApiFailure } from "~/api/failure";
import { isOn } from "~/app/boot";
import { inLang, megabytes, money, number, percent, sum, times, type Money } from "~/i18n/formats";
import { cleanDomain } from "~/ui/domainname";
import { ErrorNote } from "~/ui/ErrorNote";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { useIntent } from "~/ui/intent";
import { Refusal } from "~/ui/proof/Refusal";
import { SectionCard } from "~/ui/SectionCard";
import { zoneOf, zones } from "~/ui/zones";

import {
  addonCatalog,
  catalog,
  createOrder,
  domainCheck,
  type Addon,
  type Plan,
  type Price,
  type Product,
} from "./api";
import {
  addonPrice,
  domainProblem,
  findPlan,
  findPrice,
  readAddons,
  saving,
  writeAddons,
  type Quantities,
} from "./choice";
import classes from "./OrderForm.module.css";
import type { Choice } from "./search";
import { t } from "./texts";

interface Props {
  choice: Choice;
  onChoice: (next: Choice) => void;
}

/** Ordering a service, on one page: what is chosen stands in the address, what it costs beside it. */
export function OrderForm({ choice, onChoice }: Props) {
  const products = useQuery(catalog);
  const addons = useQuery({ ...addonCatalog, enabled: isOn("addons") });
  return (
    <>
      <PageHeader title={t("title")} description={t("description")} />
      <Load query={products}>
        {({ data }) => {
          const plan = findPlan(data, choice.plan);
          const price = plan && findPrice(plan, choice.period);
          return plan && price ? (
            <Steps
              products={data}
              addons={addons.data?.data ?? []}
              plan={plan}
              price={price}
              choice={choice}
              onChoice={onChoice}
            />
          ) : (
            <Alert color="blue" title={t("nothing")} />
          );
        }}
      </Load>
    </>
  );
}

function Steps({
  products,
  addons,
  plan,
  price,
  choice,
  onChoice,
}: Props & { products: Product[]; addons: Addon[]; plan: Plan; price: Price }) {
  const navigate = useNavigate();
  const [typed, setTyped] = useState(choice.domain ?? "");
  const [problem, setProblem] = useState<string | null>(null);
  const [coupon, setCoupon] = useState(choice.coupon ?? "");
  const [couponProblem, setCouponProblem] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const keyOf = useIntent();
  const field = useRef<HTMLInputElement>(null);
  const couponField = useRef<HTMLInputElement>(null);
  const offered = addons.filter((one) => plan.addons.includes(one.key) && addonPrice(one, price.period_months));
  const wanted = readAddons(choice.addons);
  const chosen = offered.filter((one) => wanted[one.key]);
  const registering = Boolean(choice.register) && isOn("domains");
  const set = (part: Partial<Choice>) => onChoice({ ...choice, domain: cleanDomain(typed) || undefined, ...part });

  const submit = async () => {
    const domain = cleanDomain(typed);
    const wrong = domainProblem(domain);
    setProblem(wrong && t(wrong));
    setCouponProblem(null);
    setError(null);
    if (wrong) {
      field.current?.focus();
      return;
    }
    const body = {
      domain,
      plan_id: plan.id,
      period_months: price.period_months,
      ...(coupon.trim() ? { coupon_code: coupon.trim() } : {}),
    };
    setBusy(true);
    try {
      const made = await createOrder(keyOf(body), body);
      const search = {
        addons: writeAddons(Object.fromEntries(chosen.map((one) => [one.key, wanted[one.key] ?? 1]))),
        register: registering ? true : undefined,
      };
      await navigate({ to: "/orders/$order", params: { order: String(made.id) }, search });
    } catch (failure) {
      const fields = failure instanceof ApiFailure ? failure.fields : {};
      if (fields.domain) {
        setProblem(fields.domain.join(" "));
        field.current?.focus();
      } else if (failure instanceof ApiFailure && (fields.coupon_code || failure.key.startsWith("coupon"))) {
        setCouponProblem(fields.coupon_code?.join(" ") ?? failure.message);
        couponField.current?.focus();
      } else setError(failure);
    } finally {
      setBusy(false);
    }
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
            <Step number={1} title={t("step.domain")}>
              <Stack>
                {isOn("domains") && (
                  <SegmentedControl
                    aria-label={t("step.domain")}
                    value={registering ? "register" : "own"}
                    onChange={(mode) => set({ register: mode === "register" || undefined })}
                    data={[
                      { value: "own", label: t("domain.own") },
                      { value: "register", label: t("domain.register") },
                    ]}
                  />
                )}
                <TextInput
                  ref={field}
                  label={t("domain.field")}
                  description={registering ? t("domain.register_hint") : t("domain.own_hint")}
                  placeholder="example.com"
                  inputMode="url"
                  autoCapitalize="none"
                  autoComplete="off"
                  spellCheck={false}
                  value={typed}
                  error={problem}
                  onChange={(event) => {
                    setTyped(event.currentTarget.value);
                    setError(null); // it may have asked for the proof of the name before
                  }}
                  onBlur={() => {
                    const name = cleanDomain(typed);
                    const wrong = name && domainProblem(name);
                    setProblem(wrong ? t(wrong) : null);
                    if (!wrong && name !== (choice.domain ?? "")) set({ domain: name || undefined });
                  }}
                />
                {registering && choice.domain && !domainProblem(choice.domain) && (
                  <Availability domain={choice.domain} onOwn={() => set({ register: undefined })} />
                )}
              </Stack>
            </Step>
            <Step number={2} title={t("step.plan")}>
              <Plans products={products} plan={plan} onPlan={(slug) => set({ plan: slug })} />
            </Step>
            <Step number={3} title={t("step.period")}>
              <Periods plan={plan} price={price} onPeriod={(period) => set({ period })} />
            </Step>
            {offered.length > 0 && (
              <Step number={4} title={t("step.addons")}>
                <Addons
                  offered={offered}
                  months={price.period_months}
                  wanted={wanted}
                  onWanted={(next) => set({ addons: writeAddons(next) })}
                />
              </Step>
            )}
          </Stack>
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 4 }}>
          <SectionCard id="order-summary" title={t("summary")} className={classes.summary}>
            <Stack gap="xs">
              <Sums
                plan={plan}
                price={price}
                chosen={chosen}
                wanted={wanted}
                registering={registering ? cleanDomain(typed) : ""}
              />
              <TextInput
                ref={couponField}
                label={t("coupon")}
                value={coupon}
                error={couponProblem}
                autoComplete="off"
                autoCapitalize="characters"
                spellCheck={false}
                onChange={(event) => setCoupon(event.currentTarget.value)}
                onBlur={() => coupon.trim() !== (choice.coupon ?? "") && set({ coupon: coupon.trim() || undefined })}
              />
              <Refusal error={error} onProven={submit} />
              <Button type="submit" size="md" loading={busy} fullWidth>
                {t("continue")}
              </Button>
              <Text size="sm" c="dimmed">
                {t("continue.hint")}
              </Text>
            </Stack>
          </SectionCard>
        </Grid.Col>
      </Grid>
    </form>
  );
}

function Step({ number: count, title, children }: { number: number; title: string; children: ReactNode }) {
  return (
    <SectionCard id={`order-step-${count}`} title={`${count}. ${title}`}>
      {children}
    </SectionCard>
  );
}

/** Whether a name can be registered, and what it costs now and each year after. */
function Availability({ domain, onOwn }: { domain: string; onOwn: () => void }) {
  const check = useQuery(domainCheck(domain));
  const prices = useQuery(zones);
  if (check.error) return <ErrorNote error={check.error} retry={() => void check.refetch()} />;
  if (!check.data) return <Text c="dimmed">{t("domain.looking")}</Text>;
  const { available, price, reason } = check.data;
  const zone = zoneOf(domain, prices.data ?? []);
  const renew = zone?.renew[0]?.price;
  if (available && price) {
    return (
      <Alert color="green" title={t("domain.free", { domain, price: money(price) })}>
        {renew && t("domain.renews", { price: money(renew) })}
      </Alert>
    );
  }
  return (
    <Alert color="orange" title={t(`domain.reason.${reason ?? "lookup_failed"}`, { domain })}>
      {reason === "taken" && (
        <Anchor component="button" type="button" onClick={onOwn}>
          {t("domain.is_mine")}
        </Anchor>
      )}
    </Alert>
  );
}

const limits = [
  "disk_mb",
  "bandwidth_gb",
  "sites",
  "domains",
  "databases",
  "mailboxes",
  "ftp_accounts",
  "cron_jobs",
  "backups",
  "memory_mb",
  "monitors",
] as const;

function limitOf(plan: Plan, limit: (typeof limits)[number]): string {
  const value = plan.limits[limit];
  if (value < 0) return t("unlimited");
  if (value === 0) return "–";
  if (limit === "disk_mb" || limit === "memory_mb") return megabytes(value);
  return limit === "bandwidth_gb" ? megabytes(value * 1024) : number(value);
}

/** The price of a month in the plan's shortest period. */
function Plans({ products, plan, onPlan }: { products: Product[]; plan: Plan; onPlan: (slug: string) => void }) {
  const [opened, { toggle }] = useDisclosure();
  const shown = products
    .map((product) => ({ ...product, plans: product.plans.filter((one) => one.available && one.prices.length > 0) }))
    .filter((product) => product.plans.length > 0);
  const product = shown.find((one) => one.plans.some((other) => other.id === plan.id));
  return (
    <Stack>
      <Radio.Group
        label={t("step.plan")}
        labelProps={{ className: "visually-hidden" }}
        value={plan.slug}
        onChange={onPlan}
      >
        <Stack>
          {shown.map((one) => (
            <div key={one.id}>
              {shown.length > 1 && (
                <Text fw={600} mb="xs">
                  {inLang(one.name)}
                </Text>
              )}
              <SimpleGrid cols={{ base: 1, sm: Math.min(3, Math.max(2, one.plans.length)) }} spacing="sm">
                {one.plans.map((other) => (
                  <Radio.Card key={other.id} value={other.slug} p="sm" className={classes.card}>
                    <Group gap="xs" wrap="nowrap" align="flex-start">
                      <Radio.Indicator mt={2} />
                      <div>
                        <Text fw={600}>{inLang(other.name)}</Text>
                        <Text size="sm">{t("plan_from", { price: money(cheapest(other)) })}</Text>
                        <Text size="sm" c="dimmed">
                          {t("limit.disk_mb")}: {limitOf(other, "disk_mb")}
                          <br />
                          {t("limit.sites")}: {limitOf(other, "sites")}
                          <br />
                          {t("limit.mailboxes")}: {limitOf(other, "mailboxes")}
                        </Text>
                      </div>
                    </Group>
                  </Radio.Card>
                ))}
              </SimpleGrid>
            </div>
          ))}
        </Stack>
      </Radio.Group>
      {product && (
        <div>
          <Button variant="subtle" size="compact-sm" type="button" onClick={toggle} aria-expanded={opened}>
            {t(opened ? "compare.close" : "compare")}
          </Button>
          <Collapse expanded={opened}>
            <ScrollArea mt="xs" type="auto" viewportProps={{ tabIndex: 0, role: "group", "aria-label": t("compare") }}>
              <Table miw={420} striped>
                <Table.Thead>
                  <Table.Tr>
                    <Table.Th scope="col">{t("compare.limit")}</Table.Th>
                    {product.plans.map((one) => (
                      <Table.Th key={one.id} scope="col" ta="right">
                        {inLang(one.name)}
                      </Table.Th>
                    ))}
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {limits.map((limit) => (
                    <Table.Tr key={limit}>
                      <Table.Th scope="row" fw={400}>
                        {t(`limit.${limit}`)}
                      </Table.Th>
                      {product.plans.map((one) => (
                        <Table.Td key={one.id} ta="right">
                          {limitOf(one, limit)}
                        </Table.Td>
                      ))}
                    </Table.Tr>
                  ))}
                  <Table.Tr>
                    <Table.Th scope="row" fw={400}>
                      {t("limit.sla")}
                    </Table.Th>
                    {product.plans.map((one) => (
                      <Table.Td key={one.id} ta="right">
                        {one.sla ? percent(Number(one.sla.uptime_percent) / 100, 2) : "–"}
                      </Table.Td>
                    ))}
                  </Table.Tr>
                </Table.Tbody>
              </Table>
            </ScrollArea>
          </Collapse>
        </div>
      )}
    </Stack>
  );
}

const cheapest = (plan: Plan): Money =>
  plan.prices
    .map((one) => times(one.price, 1 / one.period_months))
    .reduce((a, b) => (b.usd_cents < a.usd_cents ? b : a));

function Periods({ plan, price, onPeriod }: { plan: Plan; price: Price; onPeriod: (months: number) => void }) {
  return (
    <Radio.Group
      label={t("step.period")}
      labelProps={{ className: "visually-hidden" }}
      value={String(price.period_months)}
      onChange={(months) => onPeriod(Number(months))}
    >
      <Stack gap="xs">
        {plan.prices.map((one) => {
          const saved = saving(plan, one);
          const first = one.first_period_price;
          return (
            <Radio.Card key={one.period_months} value={String(one.period_months)} p="sm" className={classes.card}>
              <Group justify="space-between" gap="xs">
                <Group gap="xs" wrap="nowrap" align="flex-start">
                  <Radio.Indicator mt={2} />
                  <div>
                    <Group gap="xs">
                      <Text fw={600}>{t("months", { count: one.period_months })}</Text>
                      {saved > 0 && (
                        <Badge variant="light" tt="none" c="var(--status-good)" color="green">
                          {t("save", { percent: percent(saved / 100) })}
                        </Badge>
                      )}
                    </Group>
                    <Text size="sm" c="dimmed">
                      {t("from_month", { price: money(times(one.price, 1 / one.period_months)) })}
                    </Text>
                  </div>
                </Group>
                <div className={classes.period}>
                  <Text fw={600}>{money(first ?? one.price)}</Text>
                  <Text size="sm" c="dimmed">
                    {first ? t("then", { price: money(one.price) }) : t("same_after")}
                  </Text>
                </div>
              </Group>
            </Radio.Card>
          );
        })}
      </Stack>
    </Radio.Group>
  );
}

function Addons({
  offered,
  months,
  wanted,
  onWanted,
}: {
  offered: Addon[];
  months: number;
  wanted: Quantities;
  onWanted: (next: Quantities) => void;
}) {
  return (
    <Stack gap="sm">
      {offered.map((one) => {
        const cost = addonPrice(one, months);
        const count = wanted[one.key] ?? 0;
        return (
          <Group key={one.key} justify="space-between" gap="xs" align="flex-start" wrap="nowrap">
            <Checkbox
              checked={count > 0}
              onChange={(event) => onWanted({ ...wanted, [one.key]: event.currentTarget.checked ? 1 : 0 })}
              label={inLang(one.name)}
              description={inLang(one.description)}
            />
            <Group gap="xs" justify="flex-end" className={classes.price}>
              {count > 0 && one.max_quantity > 1 && (
                <NumberInput
                  aria-label={t("quantity", { name: inLang(one.name) })}
                  value={count}
                  min={1}
                  max={one.max_quantity}
                  clampBehavior="strict"
                  allowDecimal={false}
                  w={80}
                  size="xs"
                  onChange={(next) => Number(next) >= 1 && onWanted({ ...wanted, [one.key]: Number(next) })}
                />
              )}
              {cost && <Text size="sm">{t("each_period", { price: money(times(cost.price, cost.count)) })}</Text>}
            </Group>
          </Group>
        );
      })}
      <Text size="sm" c="dimmed">
        {t("addons.hint")}
      </Text>
    </Stack>
  );
}

/** What is paid today, and what from the second period on. */
function Sums({
  plan,
  price,
  chosen,
  wanted,
  registering,
}: {
  plan: Plan;
  price: Price;
  chosen: Addon[];
  wanted: Quantities;
  registering: string;
}) {
  const check = useQuery(domainCheck(domainProblem(registering) ? "" : registering));
  const domain = check.data?.available ? check.data.price : null;
  const extras = chosen.map((one) => {
    const cost = addonPrice(one, price.period_months);
    return { one, total: times(cost?.price ?? price.price, (cost?.count ?? 0) * (wanted[one.key] ?? 1)) };
  });
  const first = price.first_period_price ?? price.price;
  const totals = extras.map((extra) => extra.total);
  const today = sum(first, price.setup, ...totals, ...(domain ? [domain] : []));
  const later = sum(price.price, ...totals);
  return (
    <>
      <Line label={`${inLang(plan.name)}, ${t("months", { count: price.period_months })}`} value={money(first)} />
      {price.setup.usd_cents > 0 && <Line label={t("setup")} value={money(price.setup)} />}
      {extras.map(({ one, total }) => (
        <Line
          key={one.key}
          label={(wanted[one.key] ?? 1) > 1 ? `${inLang(one.name)} × ${wanted[one.key]}` : inLang(one.name)}
          value={money(total)}
        />
      ))}
      {domain && <Line label={registering} value={money(domain)} />}
      <Divider />
      <Line label={t("today")} value={money(today)} strong />
      <Text size="sm" c="dimmed">
        {t("later", { count: price.period_months, price: money(later) })} {t("tax_hint")}
      </Text>
    </>
  );
}

function Line({ label, value, strong }: { label: string; value: string; strong?: boolean }) {
  return (
    <Group justify="space-between" wrap="nowrap" gap="md" align="flex-start">
      <Text fw={strong ? 700 : undefined} style={{ overflowWrap: "anywhere" }}>
        {label}
      </Text>
      <Text fw={strong ? 700 : undefined} className={classes.price}>
        {value}
      </Text>
    </Group>
  );
}
