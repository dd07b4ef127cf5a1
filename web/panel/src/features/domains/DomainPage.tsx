import {
  Alert,
  Anchor,
  Button,
  Card,
  Group,
  Modal,
  NativeSelect,
  SimpleGrid,
  Stack,
  Switch,
  Text,
  Textarea,
  Title,
} from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState, type FormEvent, type ReactNode } from "react";

import { gross, less, money, times } from "~/i18n/formats";
import { useAction } from "~/ui/action";
import { billing, type Profile } from "~/ui/billing";
import { Confirm } from "~/ui/Confirm";
import { tidy } from "~/ui/contact/contact";
import { ContactFields, useContactForm } from "~/ui/contact/ContactFields";
import { Copy } from "~/ui/Copy";
import { ErrorNote } from "~/ui/ErrorNote";
import { useIntent } from "~/ui/intent";
import { Load } from "~/ui/Load";
import { done } from "~/ui/notice";
import { PageHeader } from "~/ui/PageHeader";
import { TaxNote } from "~/ui/TaxNote";
import { When } from "~/ui/When";
import { zones } from "~/ui/zones";

import {
  answerTransfer,
  authCode,
  domain,
  isWaiting,
  renew,
  setContacts,
  setDnssec,
  setNameservers,
  update,
  type Domain,
} from "./api";
import { readServers, readSigners, writeServers, writeSigners } from "./records";
import { DomainStatus } from "./status";
import { t } from "./texts";

/** Runs a change of the domain: its answer is shown at once, its refusal beside the form. */
function useChange(id: number) {
  const queries = useQueryClient();
  const [run, { busy, error }] = useAction(async (act: () => Promise<Domain>, text: string) => {
    queries.setQueryData(["domain", id], await act());
    void queries.invalidateQueries({ queryKey: ["domains"] });
    done(text);
  });
  return { busy, error, change: run };
}

export function DomainPage({ id }: { id: number }) {
  const query = useQuery(domain(id));
  return (
    <Load query={query}>
      {(data) => (
        <>
          <PageHeader
            title={data.unicode_name}
            aside={<DomainStatus status={data.status} />}
            description={
              data.expires_at && (
                <>
                  {t("until")} <When time={data.expires_at} form="day" />
                </>
              )
            }
          />
          <Stack>
            <Operation domain={data} />
            {data.verification.status === "pending" && (
              <Alert color="orange" title={t("verification")}>
                {data.verification.deadline && (
                  <>
                    {t("verification.until")} <When time={data.verification.deadline} form="day" />
                  </>
                )}
              </Alert>
            )}
            {data.service_id !== null && (
              <Text>
                {t("hosted")}{" "}
                <Anchor component={Link} to={`/services/${data.service_id}`}>
                  {t("hosted.link")}
                </Anchor>
              </Text>
            )}
            {["active", "expired", "grace", "redemption", "suspended", "pending_verification"].includes(
              data.status,
            ) && (
              <SimpleGrid cols={{ base: 1, md: 2 }}>
                <Renewal domain={data} />
                <Protection domain={data} />
                <Nameservers domain={data} />
                <Dnssec domain={data} />
                <Owner domain={data} />
                <Leaving domain={data} />
              </SimpleGrid>
            )}
          </Stack>
        </>
      )}
    </Load>
  );
}

/** The last thing that was asked of the registry, and how far it is. */
function Operation({ domain }: { domain: Domain }) {
  const operation = domain.last_operation;
  if (!operation || (operation.status === "done" && !isWaiting(domain))) return null;
  const order = (
    <Anchor component={Link} to={`/orders/${operation.order_id}`}>
      {t("operation.order")}
    </Anchor>
  );
  if (operation.status === "failed")
    return (
      <Alert color="red" title={t(`operation.${operation.kind}.failed`)}>
        <Text>{operation.message}</Text>
        <Text>
          {t("operation.money_back")} {order}
        </Text>
      </Alert>
    );
  return (
    <Alert color="blue" role="status" title={t(`operation.${operation.kind}.pending`)}>
      {operation.kind === "transfer" ? t("operation.transfer.text") : t("operation.text")} {order}
    </Alert>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Card withBorder component="section" aria-label={title}>
      <Title order={2} mb="sm">
        {title}
      </Title>
      <Stack gap="sm">{children}</Stack>
    </Card>
  );
}

function Renewal({ domain }: { domain: Domain }) {
  const { busy, error, change } = useChange(domain.id);
  const [opened, { open, close }] = useDisclosure();
  const tax = useQuery(billing);
  const restore = domain.status === "redemption";
  return (
    <Part title={t("renewal")}>
      {domain.renew_price && <Text>{t("renewal.price", { price: money(domain.renew_price) })}</Text>}
      {domain.grace_until && ["expired", "grace"].includes(domain.status) && (
        <Text c="var(--status-warn)">
          {t("renewal.grace")} <When time={domain.grace_until} form="day" />
        </Text>
      )}
      {restore && domain.redemption_until && (
        <Text c="var(--status-bad)">
          {t("renewal.redemption")} <When time={domain.redemption_until} form="day" />
        </Text>
      )}
      <Switch
        label={t("auto")}
        description={t("auto.text")}
        checked={domain.auto_renew}
        disabled={busy}
        onChange={(event) => {
          const auto_renew = event.currentTarget.checked;
          void change(() => update(domain.id, { auto_renew }), t(auto_renew ? "auto.done" : "auto.undone"));
        }}
      />
      <ErrorNote error={error} />
      <Group>
        <Button onClick={open} variant="light">
          {t(restore ? "restore" : "renew")}
        </Button>
      </Group>
      <Modal opened={opened} onClose={close} title={t(restore ? "restore" : "renew")}>
        <Load query={tax}>{(by) => <RenewForm domain={domain} by={by} onDone={close} />}</Load>
      </Modal>
    </Part>
  );
}

function RenewForm({ domain, by, onDone }: { domain: Domain; by: Profile; onDone: () => void }) {
  const { busy, error, change } = useChange(domain.id);
  const queries = useQueryClient();
  const query = useQuery(zones);
  const zone = query.data?.find((one) => one.tld === domain.tld);
  const [years, setYears] = useState(1);
  const keyOf = useIntent();
  const restore = domain.status === "redemption";
  // A domain keeps the prices, retail or wholesale, at which it was bought; those of the zone are what a new one costs.
  const costs = (count: number) => domain.renew_price && times(domain.renew_price, count);
  const price = restore ? domain.restore_price : costs(years);
  const total = price && gross(price, by);
  const pay = async (expected: number) => {
    const body = { expected_usd_cents: expected, ...(restore ? { restore: true } : { years }) };
    const good = await change(
      () => renew(domain.id, keyOf(body), body),
      t("renew.begun", { name: domain.unicode_name }),
    );
    void queries.invalidateQueries({ queryKey: ["wallet"] });
    if (good) onDone();
    else void queries.invalidateQueries({ queryKey: ["domain", domain.id] }); // the price may be another one now
  };
  return (
    <Stack>
      {restore ? (
        <Text>{t("restore.text")}</Text>
      ) : (
        <NativeSelect
          label={t("years")}
          value={String(years)}
          onChange={(event) => setYears(Number(event.currentTarget.value))}
          data={Array.from({ length: zone?.max_years ?? 1 }, (_, at) => {
            const cost = costs(at + 1);
            return {
              value: String(at + 1),
              label: `${t("years.count", { count: at + 1 })}${cost ? ` – ${money(gross(cost, by))}` : ""}`,
            };
          })}
          data-autofocus
        />
      )}
      {price && total && <TaxNote tax={less(total, price)} name={by.tax_name} />}
      <ErrorNote error={error} />
      <Group justify="flex-end">
        <Button loading={busy} disabled={!price} onClick={() => price && void pay(price.usd_cents)}>
          {t("pay", { amount: total ? money(total) : "" })}
        </Button>
      </Group>
    </Stack>
  );
}

function Protection({ domain }: { domain: Domain }) {
  const { busy, error, change } = useChange(domain.id);
  return (
    <Part title={t("protection")}>
      <Switch
        label={t("lock")}
        description={t("lock.text")}
        checked={domain.locked}
        disabled={busy}
        onChange={(event) => {
          const locked = event.currentTarget.checked;
          void change(() => update(domain.id, { locked }), t(locked ? "lock.done" : "lock.undone"));
        }}
      />
      {domain.privacy_supported && (
        <Switch
          label={t("privacy")}
          description={t("privacy.text")}
          checked={domain.privacy}
          disabled={busy}
          onChange={(event) => {
            const privacy = event.currentTarget.checked;
            void change(() => update(domain.id, { privacy }), t(privacy ? "privacy.done" : "privacy.undone"));
          }}
        />
      )}
      <ErrorNote error={error} />
    </Part>
  );
}

function Nameservers({ domain }: { domain: Domain }) {
  const { busy, error, change } = useChange(domain.id);
  const [text, setText] = useState(() => writeServers(domain.nameservers, domain.glue_hosts));
  const [problem, setProblem] = useState<string | null>(null);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const read = readServers(text);
    if ("wrong" in read) {
      setProblem(t("nameservers.wrong", { line: read.wrong }));
      return;
    }
    setProblem(null);
    await change(
      () => setNameservers(domain.id, { nameservers: read.nameservers, glue_hosts: read.glue }),
      t("nameservers.done"),
    );
  };
  return (
    <Part title={t("nameservers")}>
      <form onSubmit={(event) => void submit(event)}>
        <Stack gap="sm">
          <Textarea
            label={t("nameservers.field")}
            description={t("nameservers.hint")}
            value={text}
            error={problem}
            onChange={(event) => setText(event.currentTarget.value)}
            autosize
            minRows={2}
            maxRows={13}
            spellCheck={false}
          />
          <ErrorNote error={error} />
          <Group>
            <Button type="submit" variant="light" loading={busy}>
              {t("save")}
            </Button>
          </Group>
        </Stack>
      </form>
    </Part>
  );
}

function Dnssec({ domain }: { domain: Domain }) {
  const { busy, error, change } = useChange(domain.id);
  const [text, setText] = useState(() => writeSigners(domain.dnssec.ds_records));
  const [problem, setProblem] = useState<string | null>(null);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const read = readSigners(text);
    if ("wrong" in read) {
      setProblem(t("dnssec.wrong", { line: read.wrong }));
      return;
    }
    setProblem(null);
    await change(
      () => setDnssec(domain.id, { ds_records: read }),
      t(read.length > 0 ? "dnssec.done" : "dnssec.undone"),
    );
  };
  return (
    <Part title="DNSSEC">
      <form onSubmit={(event) => void submit(event)}>
        <Stack gap="sm">
          <Textarea
            label={t("dnssec.field")}
            description={t("dnssec.hint")}
            placeholder="12345 13 2 0A1B…"
            value={text}
            error={problem}
            onChange={(event) => setText(event.currentTarget.value)}
            autosize
            minRows={2}
            maxRows={8}
            spellCheck={false}
          />
          <ErrorNote error={error} />
          <Group>
            <Button type="submit" variant="light" loading={busy}>
              {t("save")}
            </Button>
          </Group>
        </Stack>
      </form>
    </Part>
  );
}

const roles = ["owner", "admin", "tech", "billing"] as const;

function Owner({ domain }: { domain: Domain }) {
  const { busy, error, change } = useChange(domain.id);
  const [opened, { open, close }] = useDisclosure();
  const [role, setRole] = useState<(typeof roles)[number]>("owner");
  const form = useContactForm();
  const submit = form.onSubmit(async (values) => {
    if (await change(() => setContacts(domain.id, { [role]: tidy(values) }), t("contacts.done"))) close();
  });
  return (
    <Part title={t("contacts")}>
      <Text size="sm">{t("contacts.text")}</Text>
      <Group>
        <Button variant="light" onClick={open}>
          {t("contacts.change")}
        </Button>
      </Group>
      <Modal opened={opened} onClose={close} title={t("contacts.change")} size="lg">
        <form onSubmit={submit} noValidate>
          <Stack>
            <NativeSelect
              label={t("contacts.role")}
              value={role}
              onChange={(event) => setRole(event.currentTarget.value as typeof role)}
              data={roles.map((one) => ({ value: one, label: t(`role.${one}`) }))}
            />
            <ContactFields form={form} />
            <ErrorNote error={error} />
            <Group justify="flex-end">
              <Button type="submit" loading={busy}>
                {t("save")}
              </Button>
            </Group>
          </Stack>
        </form>
      </Modal>
    </Part>
  );
}

/** Taking the domain to another registrar. */
function Leaving({ domain }: { domain: Domain }) {
  const { error, change } = useChange(domain.id);
  const [code, setCode] = useState<string | null>(null);
  const [get, { busy, error: refused }] = useAction(async () => setCode((await authCode(domain.id)).auth_code));
  const asked = domain.registry_statuses.some((one) => one.toLowerCase() === "pendingtransfer");
  const [opened] = useState(Date.now);
  const until = domain.transfer_lock_until;
  const held = until !== null && Date.parse(until) > opened ? until : null;
  return (
    <Part title={t("leaving")}>
      {held ? (
        <Text size="sm">
          {t("leaving.lock")} <When time={held} />
        </Text>
      ) : domain.locked ? (
        <Text size="sm">{t("leaving.locked")}</Text>
      ) : code === null ? (
        <>
          <Text size="sm">{t("leaving.text")}</Text>
          <Group>
            <Button variant="light" loading={busy} onClick={() => void get()}>
              {t("code.get")}
            </Button>
          </Group>
        </>
      ) : (
        <Stack gap={4}>
          <Text size="sm">{t("code.secret")}</Text>
          <Copy value={code} label={t("code")} />
        </Stack>
      )}
      <ErrorNote error={refused} />
      {asked && (
        <Alert color="orange" title={t("leaving.asked")}>
          <Group>
            <Confirm
              label={t("leaving.approve")}
              title={t("leaving.approve")}
              text={t("leaving.approve_text")}
              word={domain.unicode_name}
              action={() => change(() => answerTransfer(domain.id, true), t("leaving.approved"))}
              size="compact-sm"
            />
            <Button
              size="compact-sm"
              variant="default"
              onClick={() => void change(() => answerTransfer(domain.id, false), t("leaving.rejected"))}
            >
              {t("leaving.reject")}
            </Button>
          </Group>
        </Alert>
      )}
      <ErrorNote error={error} />
    </Part>
  );
}
