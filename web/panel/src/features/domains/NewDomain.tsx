import {
  Alert,
  Button,
  Card,
  Checkbox,
  Group,
  NativeSelect,
  SegmentedControl,
  Stack,
  Text,
  TextInput,
  Title,
} from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { ApiFailure } from "~/api/failure";
import { gross, less, money, type Money } from "~/i18n/formats";
import { useAction } from "~/ui/action";
import { billing, type Profile } from "~/ui/billing";
import { tidy } from "~/ui/contact/contact";
import { ContactFields, useContactForm } from "~/ui/contact/ContactFields";
import { ErrorNote } from "~/ui/ErrorNote";
import { useIntent } from "~/ui/intent";
import { Load } from "~/ui/Load";
import { done } from "~/ui/notice";
import { PageHeader } from "~/ui/PageHeader";
import { TaxNote } from "~/ui/TaxNote";
import { TopUp } from "~/ui/topup/TopUp";
import { TopupState } from "~/ui/topup/TopupState";
import { zoneOf, zones, type Zone } from "~/ui/zones";

import { check, orderDomain, wallet } from "./api";
import { t } from "./texts";

export interface Search {
  name?: string;
  transfer?: boolean;
  topup?: number;
}

const clean = (typed: string) =>
  typed
    .trim()
    .toLowerCase()
    .replace(/^https?:\/\//, "")
    .replace(/^www\./, "")
    .replace(/[/?#].*$/, "")
    .replace(/\.$/, "");

/** Registering a domain, or moving one here from another registrar. */
export function NewDomain({ search, onSearch }: { search: Search; onSearch: (next: Search) => void }) {
  const [typed, setTyped] = useState(search.name ?? "");
  const prices = useQuery(zones);
  const tax = useQuery(billing);
  const name = search.name ?? "";
  const zone = zoneOf(name, prices.data ?? []);
  return (
    <>
      <PageHeader title={t("new.title")} description={t("new.text")} />
      <Stack maw={760}>
        {search.topup && <TopupState id={search.topup} />}
        <Card withBorder>
          <form
            onSubmit={(event) => {
              event.preventDefault();
              onSearch({ ...search, name: clean(typed) || undefined, topup: undefined });
            }}
          >
            <Stack>
              <SegmentedControl
                aria-label={t("new.how")}
                value={search.transfer ? "transfer" : "register"}
                onChange={(how) => onSearch({ ...search, transfer: how === "transfer" || undefined })}
                data={[
                  { value: "register", label: t("new.register") },
                  { value: "transfer", label: t("new.transfer") },
                ]}
              />
              <Group align="flex-end">
                <TextInput
                  label={t("new.name")}
                  placeholder="example.com"
                  value={typed}
                  onChange={(event) => setTyped(event.currentTarget.value)}
                  inputMode="url"
                  autoCapitalize="none"
                  autoComplete="off"
                  spellCheck={false}
                  flex={1}
                  miw={200}
                />
                <Button type="submit" variant={name && name === clean(typed) ? "default" : "filled"}>
                  {t(search.transfer ? "new.next" : "new.search")}
                </Button>
              </Group>
            </Stack>
          </form>
        </Card>
        {name && prices.data && !zone && <Alert color="orange" title={t("reason.tld_unsupported")} />}
        {name && zone && (
          <Load query={tax}>
            {(by) => <Offer key={name} name={name} zone={zone} transfer={Boolean(search.transfer)} by={by} />}
          </Load>
        )}
        {!name && prices.data && <Prices zones={prices.data} />}
      </Stack>
    </>
  );
}

function Prices({ zones }: { zones: Zone[] }) {
  return (
    <Card withBorder>
      <Title order={2} mb="sm">
        {t("prices")}
      </Title>
      <Stack gap={4}>
        {zones.map((zone) => (
          <Group key={zone.tld} justify="space-between">
            <Text>.{zone.unicode_tld}</Text>
            <Text size="sm">
              {t("prices.of", {
                first: zone.register[0] ? money(zone.register[0].price) : "–",
                renew: zone.renew[0] ? money(zone.renew[0].price) : "–",
              })}
            </Text>
          </Group>
        ))}
      </Stack>
    </Card>
  );
}

function Offer({ name, zone, transfer, by }: { name: string; zone: Zone; transfer: boolean; by: Profile }) {
  const query = useQuery({ ...check(name), enabled: !transfer });
  const contact = useContactForm(); // here, so that it outlives a check that the registry does not answer
  if (transfer) return <OrderForm name={name} zone={zone} transfer price={zone.transfer} by={by} contact={contact} />;
  return (
    <Load query={query}>
      {({ available, price, reason }) =>
        available && price ? (
          <>
            <Alert color="green" title={t("free", { name, price: money(price) })}>
              {zone.renew[0] && t("renews", { price: money(zone.renew[0].price) })}
            </Alert>
            <OrderForm name={name} zone={zone} transfer={false} price={price} by={by} contact={contact} />
          </>
        ) : (
          <Alert color="orange" title={t(`reason.${reason ?? "lookup_failed"}`, { name })}>
            {reason === "lookup_failed" && (
              <Button size="xs" variant="light" onClick={() => void query.refetch()}>
                {t("again")}
              </Button>
            )}
          </Alert>
        )
      }
    </Load>
  );
}

function OrderForm({
  name,
  zone,
  transfer,
  price,
  by,
  contact,
}: {
  name: string;
  zone: Zone;
  transfer: boolean;
  price: Money;
  by: Profile;
  contact: ReturnType<typeof useContactForm>;
}) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const balance = useQuery(wallet);
  const [years, setYears] = useState(zone.min_years);
  const [privacy, setPrivacy] = useState(zone.privacy);
  const [code, setCode] = useState("");
  const [codeProblem, setCodeProblem] = useState<string | null>(null);
  const keyOf = useIntent();
  const net = transfer ? price : (zone.register.find((one) => one.years === years)?.price ?? price);
  const total = gross(net, by);
  const [run, { busy, error }] = useAction(
    async (values: typeof contact.values) => {
      const wish: Parameters<typeof orderDomain>[1] = {
        domain: name,
        operation: transfer ? "transfer" : "register",
        contact: tidy(values),
        expected_usd_cents: net.usd_cents,
        ...(transfer ? { auth_code: code.trim() } : { years }),
        ...(zone.privacy ? { privacy } : {}),
      };
      const made = await orderDomain(keyOf(wish), wish);
      void queries.invalidateQueries({ queryKey: ["domains"] });
      void queries.invalidateQueries({ queryKey: ["wallet"] });
      done(t(transfer ? "transfer.begun" : "register.begun", { name }));
      await navigate({ to: "/domains/$domain", params: { domain: String(made.id) } });
    },
    (failure) => {
      // What the note above says was read before.
      if (failure instanceof ApiFailure && failure.key === "price_changed") void queries.invalidateQueries(check(name));
      return failure;
    },
  );
  const submit = contact.onSubmit(async (values) => {
    if (transfer && zone.transfer_auth_code_required && !code.trim()) {
      setCodeProblem(t("code.needed"));
      return;
    }
    if (await run(values)) return;
    void queries.invalidateQueries(zones); // the price may be another one now
    void queries.invalidateQueries({ queryKey: ["wallet"] });
  });
  return (
    <Card withBorder>
      <form onSubmit={submit} noValidate>
        <Stack>
          {transfer ? (
            <TextInput
              label={t("code")}
              description={t("code.hint")}
              value={code}
              error={codeProblem}
              onChange={(event) => {
                setCode(event.currentTarget.value);
                setCodeProblem(null);
              }}
              autoComplete="off"
              spellCheck={false}
              required={zone.transfer_auth_code_required}
            />
          ) : (
            <NativeSelect
              label={t("years")}
              value={String(years)}
              onChange={(event) => setYears(Number(event.currentTarget.value))}
              data={zone.register.map((one) => ({
                value: String(one.years),
                label: `${t("years.count", { count: one.years })} – ${money(gross(one.price, by))}`,
              }))}
            />
          )}
          {zone.privacy && (
            <Checkbox
              label={t("privacy")}
              description={t("privacy.text")}
              checked={privacy}
              onChange={(event) => setPrivacy(event.currentTarget.checked)}
            />
          )}
          <Title order={2}>{t("owner")}</Title>
          <Text size="sm" c="dimmed">
            {t("owner.text")}
          </Text>
          <ContactFields form={contact} />
          <TaxNote tax={less(total, net)} name={by.tax_name} />
          <ErrorNote error={error} />
          <Load query={balance}>
            {({ available }) =>
              available.usd_cents >= total.usd_cents ? (
                <Group>
                  <Button type="submit" loading={busy}>
                    {t("pay", { amount: money(total) })}
                  </Button>
                  <Text size="sm" c="dimmed">
                    {t("balance", { amount: money(available) })}
                  </Text>
                </Group>
              ) : null
            }
          </Load>
        </Stack>
      </form>
      {balance.data && balance.data.available.usd_cents < total.usd_cents && (
        <Stack mt="md">
          <Text fw={600}>{t("missing", { amount: money(balance.data.available), price: money(total) })}</Text>
          <TopUp
            key={total.usd_cents}
            fixed
            cents={total.usd_cents - balance.data.available.usd_cents}
            back={`/domains/new?name=${encodeURIComponent(name)}${transfer ? "&transfer=true" : ""}`}
          />
        </Stack>
      )}
    </Card>
  );
}
