import { Button, Card, Code, Group, List, NativeSelect, Stack, Text, TextInput, Title } from "@mantine/core";
import { IconCircle, IconCircleCheck } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";

import { newKey } from "~/api/client";
import { useAction } from "~/ui/action";
import { AnchorLink } from "~/ui/AnchorLink";
import { Copy } from "~/ui/Copy";
import { ErrorNote } from "~/ui/ErrorNote";
import { done } from "~/ui/notice";
import { Status } from "~/ui/Status";
import { When } from "~/ui/When";

import {
  advance,
  catalog,
  clock,
  createService,
  endpoints,
  events,
  keys,
  resetClock,
  services,
  type Endpoint,
} from "./api";
import { AddEndpoint } from "./Endpoints";
import { Frame } from "./Frame";
import { tones } from "./search";
import { t } from "./texts";

const base = `${location.origin}/api/v1/reseller`;

/** A command that does the same by the interface. */
const curl = (path: string, body?: object) =>
  `curl -H "Authorization: Bearer $KEY" ${base}${path}` +
  (body ? ` -H 'Content-Type: application/json' -d '${JSON.stringify(body)}'` : "");

/** The way of a new reseller, in the sandbox: key, service, clock, webhook; and then the live world. */
export function Start() {
  return (
    <Frame page="/reseller/start" world="sandbox">
      <Stack gap="lg">
        <KeyStep />
        <ServiceStep />
        <ClockStep />
        <WebhookStep />
        <LiveStep />
      </Stack>
    </Frame>
  );
}

function Step({
  n,
  title,
  text,
  reached,
  command,
  children,
}: {
  n: number;
  title: string;
  text: string;
  reached: boolean;
  command: string;
  children: ReactNode;
}) {
  const Mark = reached ? IconCircleCheck : IconCircle;
  return (
    <Card withBorder component="section" aria-labelledby={`step-${n}`}>
      <Stack gap="sm" align="flex-start">
        <Group gap="xs">
          <Mark size={22} color={reached ? "var(--status-good)" : undefined} aria-hidden />
          <Title order={2} id={`step-${n}`} size="h4">
            {n}. {title}
            {reached && <span className="visually-hidden"> {t("step.done")}</span>}
          </Title>
        </Group>
        <Text>{text}</Text>
        {children}
        <Text size="sm" c="dimmed">
          {t("step.curl")}
        </Text>
        <Copy value={command} label={t("step.command", { title })} />
      </Stack>
    </Card>
  );
}

function KeyStep() {
  const { data, error } = useQuery(keys("sandbox"));
  const made = data?.data ?? [];
  return (
    <Step n={1} title={t("key")} text={t("key.text")} reached={made.length > 0} command={curl("/me")}>
      <ErrorNote error={error} />
      {made.length > 0 && (
        <List size="sm">
          {made.map((key) => (
            <List.Item key={key.id}>
              {key.name} <Code>{`…${key.hint}`}</Code>{" "}
              {key.last_used_at ? (
                <>
                  {t("key.used")} <When time={key.last_used_at} form="relative" />
                </>
              ) : (
                t("key.unused")
              )}
            </List.Item>
          ))}
        </List>
      )}
      <AnchorLink to="/reseller/keys" search={{ world: "sandbox" }} fw={made.length > 0 ? undefined : 700}>
        {t(made.length > 0 ? "key.manage" : "key.make")}
      </AnchorLink>
    </Step>
  );
}

function ServiceStep() {
  const queries = useQueryClient();
  const sold = useQuery(catalog("sandbox"));
  const made = useQuery(services("sandbox", {}, 1));
  const plans = (sold.data?.data ?? []).flatMap((product) => (product.type === "hosting" ? product.plans : []));
  const [chosen, setChosen] = useState("");
  const [domain, setDomain] = useState(() => `anna-${newKey().slice(0, 6)}.stead.test`); // names are had once here
  const [once, setOnce] = useState(newKey);
  const plan = Number(chosen) || plans[0]?.id || 0;
  const body = { plan_id: plan, domain: domain.trim(), client_ref: "client-42" };
  const [make, { busy, error }] = useAction(async () => {
    await createService("sandbox", body, once);
    setOnce(newKey());
    await queries.invalidateQueries({ queryKey: ["reseller", "sandbox"] });
    done(t("service.made"));
  });
  const list = made.data?.data ?? [];
  return (
    <Step
      n={2}
      title={t("service")}
      text={t("service.text")}
      reached={list.some((one) => one.status === "active")}
      command={`${curl("/services", body)} -H 'Idempotency-Key: client-42-first'`}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void make();
        }}
      >
        <Group align="flex-end">
          <NativeSelect
            label={t("service.plan")}
            value={String(plan)}
            data={plans.map((one) => ({ value: String(one.id), label: one.slug }))}
            onChange={(event) => setChosen(event.currentTarget.value)}
          />
          <TextInput
            label={t("service.domain")}
            value={domain}
            spellCheck={false}
            onChange={(event) => setDomain(event.currentTarget.value)}
          />
          <Button type="submit" loading={busy} disabled={plan === 0}>
            {t("service.order")}
          </Button>
        </Group>
      </form>
      <ErrorNote error={error ?? made.error} />
      {list.slice(0, 3).map((one) => (
        <Group key={one.id} gap="xs">
          <span>{one.domain}</span>
          <Status tone={tones[one.status]} label={t(`status.${one.status}`)} />
        </Group>
      ))}
    </Step>
  );
}

function ClockStep() {
  const queries = useQueryClient();
  const { data, error: unread } = useQuery(clock);
  const moved = () => queries.invalidateQueries({ queryKey: ["reseller", "sandbox"] });
  const [forward, { busy, error }] = useAction(async () => {
    await advance(30);
    await moved();
  });
  const [back, { busy: resetting, error: stuck }] = useAction(async () => {
    await resetClock();
    await moved();
  });
  return (
    <Step
      n={3}
      title={t("clock")}
      text={t("clock.text")}
      reached={data !== undefined && data.status !== "real"}
      command={curl("/clock/advance", { days: 30 })}
    >
      {data && (
        <Group gap="xs">
          <Text>
            {t("clock.now")} <When time={data.now} />
          </Text>
          {data.status === "advancing" && <Status tone="busy" label={t("clock.advancing")} />}
        </Group>
      )}
      <ErrorNote error={error ?? stuck ?? unread} />
      <Group>
        <Button loading={busy || data?.status === "advancing"} onClick={() => void forward()}>
          {t("clock.forward")}
        </Button>
        {data && data.status !== "real" && (
          <Button variant="default" loading={resetting} onClick={() => void back()}>
            {t("clock.reset")}
          </Button>
        )}
      </Group>
    </Step>
  );
}

const hasAnswered = (endpoint: Endpoint) => endpoint.last_success_at !== null;

function WebhookStep() {
  // No event says that an address has answered.
  const told = useQuery({
    ...endpoints("sandbox"),
    refetchInterval: ({ state }) => (state.data?.data.length && !state.data.data.some(hasAnswered) ? 2000 : false),
  });
  const last = useQuery(events("sandbox", "", 1));
  const list = last.data?.data.slice(0, 3) ?? [];
  return (
    <Step
      n={4}
      title={t("webhook")}
      text={t("webhook.text")}
      reached={(told.data?.data ?? []).some(hasAnswered)}
      command={curl("/webhooks", { url: "https://hooks.example.com/stead" })}
    >
      <AddEndpoint world="sandbox" />
      {list.map((one) => (
        <Group key={one.id} gap="xs">
          <Code>{one.type}</Code>
          <When time={one.created_at} />
        </Group>
      ))}
      <AnchorLink to="/reseller/events" search={{ world: "sandbox" }}>
        {t("webhook.all")}
      </AnchorLink>
    </Step>
  );
}

function LiveStep() {
  const { data } = useQuery(keys("live"));
  return (
    <Step
      n={5}
      title={t("live")}
      text={t("live.text")}
      reached={(data?.data.length ?? 0) > 0}
      command={curl("/wallet")}
    >
      <Stack gap="xs" align="flex-start">
        <Text fw={600}>{t("live.key")}</Text>
        <AnchorLink to="/reseller/keys">{t("key.manage")}</AnchorLink>
        <AnchorLink to="/wallet">{t("live.wallet")}</AnchorLink>
        <AnchorLink to="/reseller/settings">{t("live.brand")}</AnchorLink>
      </Stack>
    </Step>
  );
}
