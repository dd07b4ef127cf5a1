import {
  Alert,
  Button,
  Card,
  Group,
  Modal,
  NumberInput,
  Radio,
  SimpleGrid,
  Stack,
  Switch,
  Text,
  TextInput,
  Title,
} from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";

import { newKey } from "~/api/client";
import { isOn } from "~/app/boot";
import { gross, inLang, less, megabytes, money, number, times } from "~/i18n/formats";
import { useAction } from "~/ui/action";
import { billing, type Profile } from "~/ui/billing";
import { Confirm } from "~/ui/Confirm";
import { DataTable } from "~/ui/DataTable";
import { ErrorNote } from "~/ui/ErrorNote";
import { useSubmit } from "~/ui/form";
import { Load } from "~/ui/Load";
import { done } from "~/ui/notice";
import { PageHeader } from "~/ui/PageHeader";
import { RenewalForm } from "~/ui/RenewalForm";
import { SectionCard } from "~/ui/SectionCard";
import { Status, type Tone } from "~/ui/Status";
import { TaxNote } from "~/ui/TaxNote";
import { When } from "~/ui/When";

import {
  addons,
  buyAddon,
  cancelAddon,
  catalog,
  move,
  moveQuote,
  offers,
  renew,
  renewalQuote,
  service,
  tariffs,
  update,
  type Addon,
  type Offer,
  type Service,
  type Tariff,
} from "./api";
import { endOf } from "./end";
import { t } from "./texts";

/** Reads the service, the wallet and what depends on them again. */
function useChanged(id: number) {
  const queries = useQueryClient();
  return () =>
    Promise.all([
      queries.invalidateQueries({ queryKey: ["service", id] }),
      queries.invalidateQueries({ queryKey: ["services"] }),
      queries.invalidateQueries({ queryKey: ["wallet"] }),
      queries.invalidateQueries({ queryKey: ["orders"] }),
    ]);
}

/** What a service costs and until when it is paid: renewing, another plan, extras, its name. */
export function PlanPage({ id }: { id: number }) {
  const query = useQuery(service(id));
  return (
    <Load query={query}>
      {(data) => (
        <>
          <PageHeader title={t("title")} description={`${data.unicode_domain ?? data.label} · ${data.plan.name}`} />
          <Stack gap="lg">
            <SimpleGrid cols={{ base: 1, md: 2 }}>
              <Renewal service={data} />
              <Name service={data} />
            </SimpleGrid>
            <Tariffs service={data} />
            {isOn("addons") && <Addons service={data} />}
            <Ending service={data} />
          </Stack>
        </>
      )}
    </Load>
  );
}

function Renewal({ service }: { service: Service }) {
  const changed = useChanged(service.id);
  const [opened, setOpened] = useState(false);
  const shop = useQuery({ ...catalog, enabled: opened });
  const [flip, { busy, error }] = useAction(async (auto_renew: boolean) => {
    await update(service.id, { auto_renew });
    await changed();
    done(t(auto_renew ? "auto.on" : "auto.off"));
  });
  return (
    <SectionCard id="plan-renewal" title={t("renewal")}>
      <Stack gap="sm">
        {service.expires_at && (
          <Text>
            {t("paid_until")} <When time={service.expires_at} form="day" />
          </Text>
        )}
        <Text>{t("price", { price: money(service.renew_price), count: service.period_months })}</Text>
        {service.auto_renew && !service.renewal_covered && <Text c="var(--status-warn)">{t("uncovered")}</Text>}
        <Switch
          label={t("auto")}
          description={t("auto.text")}
          checked={service.auto_renew}
          disabled={busy}
          onChange={(event) => void flip(event.currentTarget.checked)}
        />
        <ErrorNote error={error} />
        {service.available_actions.includes("renew") ? (
          <Group>
            <Button onClick={() => setOpened(true)}>{t("renew")}</Button>
          </Group>
        ) : (
          <Text size="sm" c="dimmed">
            {t("renew.not_now")}
          </Text>
        )}
      </Stack>
      <Modal opened={opened} onClose={() => setOpened(false)} title={t("renew")}>
        <RenewalForm
          service={service}
          products={shop.data?.data}
          quote={(months) => renewalQuote(service.id, months)}
          renew={(key, months, expected) => renew(service.id, key, months, expected)}
          refusal={(error) => <ErrorNote error={error} />}
          onDone={async () => {
            setOpened(false);
            await changed();
            done(t("renewed"));
          }}
        />
      </Modal>
    </SectionCard>
  );
}

/** How its owner ends a service: it is not renewed any more, and what becomes of it then, by day. */
function Ending({ service }: { service: Service }) {
  const changed = useChanged(service.id);
  const shop = useQuery(catalog);
  const ends =
    ["active", "past_due"].includes(service.status) || (service.status === "suspended" && service.terminates_at);
  if (!ends) return null;
  const terms = shop.data?.data.find((product) => product.plans.some((plan) => plan.id === service.plan.id))?.terms;
  const end = terms && endOf(service, terms);
  const course = (
    <Stack gap={4}>
      {service.status === "active" && service.expires_at && (
        <Text size="sm">
          {t("paid_until")} <When time={service.expires_at} form="day" />. {t("end.nothing_back")}
        </Text>
      )}
      {end && (
        <>
          {service.status !== "suspended" && (
            <Text size="sm">
              {t("end.offline")} <When time={end.offline.toISOString()} form="day" />.
            </Text>
          )}
          <Text size="sm">
            {t("end.over")} <When time={end.over.toISOString()} form="day" />.
          </Text>
          {end.kept > end.over && (
            <Text size="sm">
              {t("end.kept")} <When time={end.kept.toISOString()} form="day" />.
            </Text>
          )}
        </>
      )}
      {!end && <Text size="sm">{t("end.course")}</Text>}
    </Stack>
  );
  return (
    <SectionCard id="plan-end" title={t("end")}>
      <Stack gap="sm">
        {service.auto_renew ? (
          <>
            <Text>{t("end.text")}</Text>
            <Group>
              <Confirm
                label={t("end")}
                title={t("end")}
                text={
                  <Stack gap="xs">
                    <Text>{t("end.ask")}</Text>
                    {course}
                  </Stack>
                }
                action={async () => {
                  await update(service.id, { auto_renew: false });
                  await changed();
                  done(t("auto.off"));
                }}
              />
            </Group>
          </>
        ) : (
          <>
            <Text>{t("end.ends")}</Text>
            {course}
            <Text size="sm" c="dimmed">
              {t("end.back")}
            </Text>
          </>
        )}
      </Stack>
    </SectionCard>
  );
}

function Name({ service }: { service: Service }) {
  const changed = useChanged(service.id);
  const form = useForm({ mode: "uncontrolled", initialValues: { label: service.label } });
  const { submit, error } = useSubmit(form, async ({ label }) => {
    await update(service.id, { label: label.trim() });
    await changed();
    done(t("name.saved"));
  });
  return (
    <SectionCard id="plan-name" title={t("name")}>
      <form onSubmit={submit}>
        <Stack gap="sm">
          <TextInput
            label={t("name.field")}
            description={t("name.hint")}
            maxLength={200}
            autoComplete="off"
            key={form.key("label")}
            {...form.getInputProps("label")}
          />
          {service.client_ref && (
            <Text size="sm">
              {t("tag")}: {service.client_ref}
            </Text>
          )}
          <ErrorNote error={error} />
          <Group>
            <Button type="submit" variant="light" loading={form.submitting}>
              {t("save")}
            </Button>
          </Group>
        </Stack>
      </form>
    </SectionCard>
  );
}

function Tariffs({ service }: { service: Service }) {
  const query = useQuery({ ...tariffs(service.id), enabled: service.status === "active" });
  const [chosen, setChosen] = useState<Tariff | null>(null);
  const changed = useChanged(service.id);
  const pending = service.pending_change;
  const other = query.data?.data.find((one) => one.plan.id === pending?.plan_id);
  const takeBack = async () => {
    await move(service.id, newKey(), { plan_id: service.plan.id, when: "renewal" });
    await changed();
    done(t("move.taken_back"));
  };
  return (
    <section aria-labelledby="plan-tariffs">
      <Title order={2} id="plan-tariffs" mb="sm">
        {t("tariffs")}
      </Title>
      {pending && (
        <Alert color="blue" mb="sm" title={t("move.pending", { plan: other?.plan.name ?? `#${pending.plan_id}` })}>
          <Group>
            {pending.apply_at && <When time={pending.apply_at} form="day" />}
            <Confirm
              label={t("move.take_back")}
              title={t("move.take_back")}
              text={t("move.take_back_text", { plan: service.plan.name })}
              action={takeBack}
              size="compact-sm"
            />
          </Group>
        </Alert>
      )}
      {service.status !== "active" ? (
        <Text c="dimmed">{t("tariffs.not_now")}</Text>
      ) : (
        <Load query={query}>
          {({ data }) =>
            data.length === 0 ? (
              <Text c="dimmed">{t("tariffs.none")}</Text>
            ) : (
              <DataTable
                caption={t("tariffs")}
                rows={data}
                rowKey={(row) => row.plan.id}
                columns={[
                  { key: "plan", label: t("plan"), render: (row) => row.plan.name },
                  {
                    key: "now",
                    label: t("now"),
                    right: true,
                    render: (row) =>
                      row.credit.usd_cents > 0 ? t("credit", { amount: money(row.credit) }) : money(row.charge),
                  },
                  {
                    key: "later",
                    label: t("at_renewal"),
                    right: true,
                    render: (row) => t("price_short", { price: money(row.renew_price), count: row.period_months }),
                  },
                  {
                    key: "actions",
                    label: t("actions"),
                    actions: true,
                    render: (row) =>
                      row.exceeded.length > 0 ? (
                        <Text size="sm" c="var(--status-warn)">
                          {row.exceeded
                            .map((one) =>
                              t("exceeded", {
                                limit: limitName(one.limit),
                                used: amountOf(one.limit, one.used),
                                maximum: amountOf(one.limit, one.maximum),
                              }),
                            )
                            .join(" ")}
                        </Text>
                      ) : (
                        <Button
                          size="compact-sm"
                          variant="light"
                          disabled={!row.available}
                          onClick={() => setChosen(row)}
                        >
                          {t("move.to", { plan: row.plan.name })}
                        </Button>
                      ),
                  },
                ]}
              />
            )
          }
        </Load>
      )}
      <Text size="sm" c="dimmed" mt="sm">
        {t("proration")}
      </Text>
      <Modal
        opened={chosen !== null}
        onClose={() => setChosen(null)}
        title={chosen && t("move.to", { plan: chosen.plan.name })}
      >
        {chosen && (
          <MoveForm
            service={service}
            tariff={chosen}
            onDone={async (text) => {
              setChosen(null);
              await changed();
              done(text);
            }}
          />
        )}
      </Modal>
    </section>
  );
}

const limitNames = [
  "disk_mb",
  "sites",
  "domains",
  "databases",
  "mailboxes",
  "ftp_accounts",
  "cron_jobs",
  "backups",
] as const;

const limitName = (limit: string) => {
  const known = limitNames.find((one) => one === limit);
  return known ? t(`limit.${known}`) : limit;
};
const amountOf = (limit: string, value: number) => (limit.endsWith("_mb") ? megabytes(value) : number(value));

function MoveForm({
  service,
  tariff,
  onDone,
}: {
  service: Service;
  tariff: Tariff;
  onDone: (text: string) => Promise<void>;
}) {
  const [when, setWhen] = useState<"now" | "renewal">("now");
  const quote = useQuery(moveQuote(service.id, tariff.plan.id, when));
  const key = useRef(newKey());
  const [run, { busy, error }] = useAction(async (expected: number) => {
    await move(service.id, key.current, {
      plan_id: tariff.plan.id,
      when,
      ...(when === "now" ? { expected_usd_cents: expected } : {}),
    });
    await onDone(t(when === "now" ? "moved" : "move.noted", { plan: tariff.plan.name }));
  });
  const act = async (expected: number) => {
    if (!(await run(expected))) void quote.refetch();
  };
  return (
    <Stack>
      <Radio.Group
        label={t("when")}
        value={when}
        onChange={(next) => {
          key.current = newKey();
          setWhen(next as "now" | "renewal");
        }}
      >
        <Stack gap="xs" mt={4}>
          <Radio value="now" label={t("when.now")} data-autofocus />
          <Radio value="renewal" label={t("when.renewal")} />
        </Stack>
      </Radio.Group>
      <Load query={quote}>
        {({ tariff: quoted }) => (
          <Stack>
            <Text>
              {when === "renewal"
                ? t("move.nothing_now")
                : quoted.credit.usd_cents > 0
                  ? t("move.credit", { amount: money(quoted.credit) })
                  : t("move.charge", { amount: money(quoted.charge) })}{" "}
              {t("move.then", { price: money(quoted.renew_price), count: quoted.period_months })}
            </Text>
            <ErrorNote error={error} />
            <Group justify="flex-end">
              <Button loading={busy} onClick={() => void act(quoted.charge.usd_cents)}>
                {when === "now" && quoted.charge.usd_cents > 0
                  ? t("pay", { amount: money(quoted.charge) })
                  : t("move.to", { plan: tariff.plan.name })}
              </Button>
            </Group>
          </Stack>
        )}
      </Load>
    </Stack>
  );
}

const tones: Record<Addon["status"], Tone> = {
  pending: "busy",
  active: "good",
  suspended: "warn",
  cancelling: "neutral",
  cancelled: "neutral",
  failed: "bad",
};

function Addons({ service }: { service: Service }) {
  const mine = useQuery(addons(service.id));
  const more = useQuery({ ...offers(service.id), enabled: service.status === "active" });
  const tax = useQuery(billing);
  const [chosen, setChosen] = useState<Offer | null>(null);
  const changed = useChanged(service.id);
  const cancel = async (addon: Addon) => {
    await cancelAddon(service.id, addon.id);
    await changed();
    done(t("addon.cancelled", { name: addon.name }));
  };
  const offered = more.data?.data.filter((one) => one.left > 0) ?? [];
  return (
    <section aria-labelledby="plan-addons">
      <Title order={2} id="plan-addons" mb="sm">
        {t("addons")}
      </Title>
      <Load query={mine}>
        {({ data }) => {
          const shown = data.filter((one) => one.status !== "cancelled");
          return shown.length === 0 ? (
            <Text c="dimmed">{t("addons.none")}</Text>
          ) : (
            <DataTable
              caption={t("addons")}
              rows={shown}
              rowKey={(row) => row.id}
              columns={[
                {
                  key: "name",
                  label: t("addon"),
                  render: (row) => (
                    <>
                      {row.name}
                      {row.quantity > 1 && ` × ${row.quantity}`}
                      {row.value && ` (${row.value})`}
                    </>
                  ),
                },
                {
                  key: "status",
                  label: t("status"),
                  render: (row) => <Status tone={tones[row.status]} label={t(`status.${row.status}`)} />,
                },
                {
                  key: "until",
                  label: t("until"),
                  render: (row) => {
                    const time = row.ends_at ?? row.renews_at;
                    return time ? <When time={time} form="day" /> : "–";
                  },
                },
                { key: "price", label: t("at_renewal"), right: true, render: (row) => money(row.price) },
                {
                  key: "actions",
                  label: t("actions"),
                  actions: true,
                  render: (row) =>
                    (row.status === "active" || row.status === "pending") && (
                      <Confirm
                        label={t("addon.cancel", { name: row.name })}
                        title={t("addon.cancel", { name: row.name })}
                        text={t("addon.cancel_text")}
                        action={() => cancel(row)}
                        icon={t("cancel")}
                        size="compact-sm"
                      />
                    ),
                },
              ]}
            />
          );
        }}
      </Load>
      {offered.length > 0 && (
        <SimpleGrid cols={{ base: 1, sm: 2, md: 3 }} mt="md">
          {offered.map((one) => (
            <Card withBorder key={one.key}>
              <Stack gap="xs" h="100%" justify="space-between">
                <div>
                  <Text fw={600}>{inLang(one.name)}</Text>
                  <Text size="sm" c="dimmed">
                    {inLang(one.description)}
                  </Text>
                  <Text size="sm">{t("offer", { now: money(one.charge), price: money(one.unit_price) })}</Text>
                </div>
                <Group>
                  <Button
                    size="compact-md"
                    variant="light"
                    onClick={() => setChosen(one)}
                    aria-label={`${t("add")}: ${inLang(one.name)}`}
                  >
                    {t("add")}
                  </Button>
                </Group>
              </Stack>
            </Card>
          ))}
        </SimpleGrid>
      )}
      <Modal opened={chosen !== null} onClose={() => setChosen(null)} title={chosen && inLang(chosen.name)}>
        {chosen && (
          <Load query={tax}>
            {(by) => (
              <AddonForm
                service={service}
                offer={chosen}
                by={by}
                onDone={async () => {
                  setChosen(null);
                  await changed();
                  done(t(chosen.manual ? "addon.ordered" : "addon.added", { name: inLang(chosen.name) }));
                }}
              />
            )}
          </Load>
        )}
      </Modal>
    </section>
  );
}

function AddonForm({
  service,
  offer,
  by,
  onDone,
}: {
  service: Service;
  offer: Offer;
  by: Profile;
  onDone: () => Promise<void>;
}) {
  const [count, setCount] = useState(1);
  const key = useRef(newKey());
  const net = times(offer.charge, count);
  const total = gross(net, by);
  const [buy, { busy, error }] = useAction(async () => {
    await buyAddon(service.id, key.current, {
      key: offer.key,
      quantity: count,
      expected_usd_cents: net.usd_cents,
    });
    await onDone();
  });
  return (
    <Stack>
      <Text>{inLang(offer.description)}</Text>
      {offer.left > 1 && (
        <NumberInput
          label={t("quantity")}
          description={t("quantity.left", { count: offer.left })}
          value={count}
          min={1}
          max={offer.left}
          allowDecimal={false}
          clampBehavior="strict"
          onChange={(next) => {
            key.current = newKey();
            setCount(Math.max(1, Number(next) || 1));
          }}
          data-autofocus
        />
      )}
      <Text>
        {t("addon.until")} {offer.paid_until && <When time={offer.paid_until} form="day" />}{" "}
        {t("addon.then", { price: money(gross(times(offer.unit_price, count), by)) })}
      </Text>
      {offer.manual && <Text size="sm">{t("addon.manual")}</Text>}
      <TaxNote tax={less(total, net)} name={by.tax_name} />
      <ErrorNote error={error} />
      <Group justify="flex-end">
        <Button loading={busy} onClick={() => void buy()}>
          {t("pay", { amount: money(total) })}
        </Button>
      </Group>
    </Stack>
  );
}
