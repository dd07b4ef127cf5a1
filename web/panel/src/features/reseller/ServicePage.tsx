import {
  Alert,
  Button,
  Group,
  Modal,
  Radio,
  SimpleGrid,
  Stack,
  Switch,
  Text,
  Textarea,
  TextInput,
} from "@mantine/core";
import { useForm } from "@mantine/form";
import { useDisclosure } from "@mantine/hooks";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";

import { newKey } from "~/api/client";
import { money } from "~/i18n/formats";
import { useAction } from "~/ui/action";
import { AnchorLink } from "~/ui/AnchorLink";
import { Copy } from "~/ui/Copy";
import { DataTable } from "~/ui/DataTable";
import { ErrorNote } from "~/ui/ErrorNote";
import { useSubmit } from "~/ui/form";
import { Load } from "~/ui/Load";
import { done } from "~/ui/notice";
import { PageHeader } from "~/ui/PageHeader";
import { RenewalForm } from "~/ui/RenewalForm";
import { SectionCard } from "~/ui/SectionCard";
import { Status } from "~/ui/Status";
import { When } from "~/ui/When";

import {
  catalog,
  clientLink,
  end,
  history,
  renew,
  renewalQuote,
  restore,
  service,
  setService,
  suspend,
  unsuspend,
  type Service,
  type World,
} from "./api";
import { Pages } from "./Frame";
import { Refusal } from "./Refusal";
import { tones } from "./search";
import { t } from "./texts";

interface Props {
  world: World;
  service: Service;
}

const nameOf = (one: Service) => one.label || (one.unicode_domain ?? one.domain ?? `#${one.id}`);

/** Reads what shows the reseller's services, and the money that they cost, again. */
function useChanged(world: World) {
  const queries = useQueryClient();
  return () =>
    Promise.all(
      [["reseller", world], ...(world === "live" ? [["services"], ["service"], ["wallet"], ["orders"]] : [])].map(
        (queryKey) => queries.invalidateQueries({ queryKey }),
      ),
    );
}

const backOf = (world: World, one: Service) =>
  `/reseller/services/${one.id}${world === "sandbox" ? "?world=sandbox" : ""}`;

/** One service of a client: how it is, what it costs, whose it is, and what its reseller can do with it. */
export function ServicePage({ world, id }: { world: World; id: number }) {
  const query = useQuery(service(world, id));
  return (
    <Load query={query}>
      {(data) => (
        <>
          <PageHeader
            title={nameOf(data)}
            description={[data.client_ref, data.plan.name, world === "sandbox" && t("world.sandbox")]
              .filter(Boolean)
              .join(" · ")}
            aside={
              <span role="status">
                <Status tone={tones[data.status]} label={t(`status.${data.status}`)} />
              </span>
            }
          />
          <Pages world={world} />
          <Stack gap="lg">
            <StateNote world={world} service={data} />
            <SimpleGrid cols={{ base: 1, md: 2 }}>
              <ForClient world={world} service={data} />
              <Payment world={world} service={data} />
              <Notes key={`${data.label} ${data.client_ref}`} world={world} service={data} />
              <Power world={world} service={data} />
            </SimpleGrid>
            <Happened world={world} service={data} />
          </Stack>
        </>
      )}
    </Load>
  );
}

/** What the state means, and what to do next. */
function StateNote({ world, service: one }: Props) {
  const own = one.available_actions.includes("unsuspend");
  switch (one.status) {
    case "pending":
    case "provisioning":
      return (
        <Alert color="blue" role="status" title={t("note.provisioning")}>
          {t("note.provisioning_text")}
        </Alert>
      );
    case "failed":
      return (
        <Alert color="red" title={t("note.failed")}>
          <AnchorLink to="/reseller/new" search={again(world, one)}>
            {t("note.again")}
          </AnchorLink>
        </Alert>
      );
    case "past_due":
      return <Alert color="orange" title={t("note.past_due")} />;
    case "suspended":
      return (
        <Alert color="orange" title={t(`note.suspended.${own ? "own" : (one.suspend_reason ?? "manual")}`)}>
          {one.suspend_note && <Text size="sm">{one.suspend_note}</Text>}
          <Ends service={one} />
        </Alert>
      );
    case "terminating":
      return <Alert color="blue" role="status" title={t("note.terminating")} />;
    case "terminated":
      return one.available_actions.includes("restore") ? (
        <Alert color="gray" title={t("note.terminated")}>
          <Restore world={world} service={one} />
        </Alert>
      ) : (
        <Alert color="gray" title={t("note.gone")}>
          <AnchorLink to="/reseller/new" search={again(world, one)}>
            {t("note.again")}
          </AnchorLink>
        </Alert>
      );
    default:
      return one.terminates_at ? (
        <Alert color="orange" title={t("note.ends")}>
          <Ends service={one} />
          <Text size="sm">{t("note.ends_text")}</Text>
        </Alert>
      ) : null;
  }
}

const again = (world: World, one: Service) => ({
  world: world === "sandbox" ? world : undefined,
  client_ref: one.client_ref ?? undefined,
  plan: one.plan.slug,
  period: one.period_months,
  domain: one.domain ?? undefined,
});

function Ends({ service: { terminates_at } }: { service: Service }) {
  if (!terminates_at) return null;
  return (
    <Text size="sm">
      {t("note.ends_at")} <When time={terminates_at} form="day" />
    </Text>
  );
}

function Restore({ world, service: one }: Props) {
  const changed = useChanged(world);
  const key = useRef(newKey());
  const [act, { busy, error, clear }] = useAction(async () => {
    await restore(world, one.id, key.current);
    key.current = newKey();
    await changed();
    done(t("restore.done"));
  });
  return (
    <Stack gap="sm" align="flex-start">
      <Text size="sm">{t("restore.text", { amount: money(one.renew_cost) })}</Text>
      <Refusal error={error} world={world} back={backOf(world, one)} onProven={clear} />
      <Button loading={busy} onClick={() => void act()}>
        {t("restore")}
      </Button>
    </Stack>
  );
}

/** The way in for the client, and the pages on which the reseller manages the service. */
function ForClient({ world, service: one }: Props) {
  const [url, setUrl] = useState("");
  const [make, { busy, error }] = useAction(async () => setUrl((await clientLink(world, one.id)).url));
  const site = one.unicode_domain ?? one.domain;
  return (
    <SectionCard id="resold-client" title={t("client")}>
      <Stack gap="sm" align="flex-start">
        {site && (
          <Text>
            {t("service.domain")}: {site}
          </Text>
        )}
        {one.origin_url && (
          <Text size="sm" component="div">
            {t("preview")} <Copy value={one.origin_url} label={t("preview")} />
          </Text>
        )}
        {one.nameservers.length > 0 && (
          <Text size="sm" component="div">
            {t("nameservers")}{" "}
            {one.nameservers.map((host) => (
              <Copy key={host} value={host} />
            ))}
          </Text>
        )}
        <ErrorNote error={error} />
        {one.available_actions.includes("login_link") ? (
          <Button loading={busy} onClick={() => void make()}>
            {t("link.make")}
          </Button>
        ) : (
          <Text size="sm" c="dimmed">
            {t("link.not_now")}
          </Text>
        )}
        {world === "live" && (
          <AnchorLink to="/services/$service" params={{ service: String(one.id) }}>
            {t("manage")}
          </AnchorLink>
        )}
      </Stack>
      <Modal opened={url !== ""} onClose={() => setUrl("")} title={t("link.title")}>
        <Stack align="flex-start">
          <Text>{t("link.text", { name: nameOf(one) })}</Text>
          <Copy value={url} label={t("link.title")} />
        </Stack>
      </Modal>
    </SectionCard>
  );
}

function Payment({ world, service: one }: Props) {
  const changed = useChanged(world);
  const [opened, { open, close }] = useDisclosure();
  const sold = useQuery({ ...catalog(world), enabled: opened });
  const [flip, { busy, error }] = useAction(async (auto_renew: boolean) => {
    await setService(world, one.id, { auto_renew });
    await changed();
    done(t(auto_renew ? "auto.on" : "auto.off"));
  });
  const over = ["terminating", "terminated", "failed", "cancelled"].includes(one.status);
  return (
    <SectionCard id="resold-payment" title={t("payment")}>
      <Stack gap="sm">
        {one.expires_at && (
          <Text>
            {t("column.renews")} <When time={one.expires_at} form="day" />
          </Text>
        )}
        <Text>{t("payment.cost", { price: money(one.renew_cost), count: one.period_months })}</Text>
        {one.auto_renew && !over && !one.renewal_covered && (
          <Group gap="sm">
            <Status tone="warn" label={t("covered_not")} />
            {world === "live" && (
              <AnchorLink to="/wallet" search={{ back: backOf(world, one) }}>
                {t("top_up")}
              </AnchorLink>
            )}
          </Group>
        )}
        {!over && (
          <Switch
            label={t("auto")}
            description={t("auto.text")}
            checked={one.auto_renew}
            disabled={busy}
            onChange={(event) => void flip(event.currentTarget.checked)}
          />
        )}
        <ErrorNote error={error} />
        {one.available_actions.includes("renew") && (
          <Group>
            <Button onClick={open}>{t("renew")}</Button>
          </Group>
        )}
      </Stack>
      <Modal opened={opened} onClose={close} title={t("renew")}>
        <RenewalForm
          service={one}
          products={sold.data?.data}
          quote={(months) => renewalQuote(world, one.id, months)}
          renew={(key, months, expected) => renew(world, one.id, key, months, expected)}
          refusal={(error) => <Refusal error={error} world={world} back={backOf(world, one)} />}
          onDone={async () => {
            close();
            await changed();
            done(t("renewed"));
          }}
        />
      </Modal>
    </SectionCard>
  );
}

/** Whose it is, and what the reseller calls it. */
function Notes({ world, service: one }: Props) {
  const changed = useChanged(world);
  const form = useForm({
    mode: "controlled",
    initialValues: { client_ref: one.client_ref ?? "", label: one.label },
    validate: { label: (label) => (label.trim() ? null : t("keys.name_wrong")) },
  });
  const { submit, error } = useSubmit(form, async ({ client_ref, label }) => {
    await setService(world, one.id, { client_ref: client_ref.trim(), label: label.trim() });
    await changed();
    done(t("notes.saved"));
  });
  return (
    <SectionCard id="resold-notes" title={t("notes")}>
      <form onSubmit={submit} noValidate>
        <Stack gap="sm">
          <TextInput
            label={t("sell.client_ref")}
            description={t("sell.client_ref_hint")}
            maxLength={64}
            autoComplete="off"
            spellCheck={false}
            {...form.getInputProps("client_ref")}
          />
          <TextInput
            label={t("sell.label")}
            description={t("sell.label_hint")}
            maxLength={100}
            autoComplete="off"
            {...form.getInputProps("label")}
          />
          <ErrorNote error={error} />
          <Group>
            <Button type="submit" variant="light" loading={form.submitting} disabled={!form.isDirty()}>
              {t("save")}
            </Button>
          </Group>
        </Stack>
      </form>
    </SectionCard>
  );
}

/** Taking the site offline and back, and ending the service. */
function Power({ world, service: one }: Props) {
  const changed = useChanged(world);
  const [suspending, suspension] = useDisclosure();
  const [ending, ender] = useDisclosure();
  const can = (action: string) => one.available_actions.includes(action);
  const [lift, { busy, error }] = useAction(async () => {
    await unsuspend(world, one.id);
    await changed();
    done(t("unsuspended"));
  });
  if (!can("suspend") && !can("unsuspend") && !can("terminate")) return null;
  return (
    <SectionCard id="resold-power" title={t("power")}>
      <Stack gap="sm" align="flex-start">
        {can("suspend") && (
          <>
            <Text size="sm">{t("suspend.text")}</Text>
            <Button variant="default" onClick={suspension.open}>
              {t("suspend")}
            </Button>
          </>
        )}
        {can("unsuspend") && (
          <Button loading={busy} onClick={() => void lift()}>
            {t("unsuspend")}
          </Button>
        )}
        <ErrorNote error={error} />
        {can("terminate") && (
          <>
            <Text size="sm">{t("end.text")}</Text>
            <Button variant="light" color="red" onClick={ender.open}>
              {t("end")}
            </Button>
          </>
        )}
      </Stack>
      <Modal opened={suspending} onClose={suspension.close} title={t("suspend.of", { name: nameOf(one) })}>
        <Suspension
          world={world}
          service={one}
          onDone={async () => {
            suspension.close();
            await changed();
            done(t("suspended"));
          }}
        />
      </Modal>
      <Modal opened={ending} onClose={ender.close} title={t("end.of", { name: nameOf(one) })}>
        <Ending
          world={world}
          service={one}
          onDone={async (text) => {
            ender.close();
            await changed();
            done(text);
          }}
        />
      </Modal>
    </SectionCard>
  );
}

function Suspension({ world, service: one, onDone }: Props & { onDone: () => Promise<void> }) {
  const [reason, setReason] = useState("");
  const [act, { busy, error }] = useAction(async () => {
    await suspend(world, one.id, reason.trim());
    await onDone();
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void act();
      }}
    >
      <Stack>
        <Text>{t("suspend.text")}</Text>
        <Textarea
          label={t("suspend.reason")}
          description={t("suspend.reason_hint")}
          maxLength={300}
          autosize
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
          data-autofocus
        />
        <ErrorNote error={error} />
        <Group justify="flex-end">
          <Button type="submit" color="red" loading={busy}>
            {t("suspend")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** Asks when, and, where it cannot be taken back, for the name of what ends. */
function Ending({ world, service: one, onDone }: Props & { onDone: (text: string) => Promise<void> }) {
  const [when, setWhen] = useState<"now" | "period_end">("period_end");
  const [typed, setTyped] = useState("");
  const word = one.domain ?? String(one.id);
  const now = when === "now" || one.status !== "active"; // what is not paid ends at once
  const [act, { busy, error }] = useAction(async () => {
    const { terminates_at, status } = await end(world, one.id, when);
    await onDone(t(status === "active" && terminates_at ? "end.noted" : "ended"));
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (typed === word) void act();
      }}
    >
      <Stack>
        <Radio.Group
          label={t("end.when")}
          value={when}
          onChange={(next) => setWhen(next === "now" ? next : "period_end")}
        >
          <Stack gap="xs" mt={4}>
            <Radio value="period_end" label={t("end.period")} />
            <Radio value="now" label={t("end.now")} />
          </Stack>
        </Radio.Group>
        <Text>{t(now ? "end.now_text" : "end.period_text")}</Text>
        <TextInput
          label={t("end.type", { word })}
          value={typed}
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
        <ErrorNote error={error} />
        <Group justify="flex-end">
          <Button type="submit" color="red" loading={busy} disabled={typed !== word}>
            {t("end")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function Happened({ world, service: one }: Props) {
  const query = useQuery(history(world, one.id, one.status));
  return (
    <SectionCard id="resold-history" title={t("history")}>
      <Load query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Text c="dimmed">{t("history.none")}</Text>
          ) : (
            <DataTable
              caption={t("history")}
              rows={data}
              rowKey={(row) => row.id}
              columns={[
                { key: "at", label: t("column.at"), render: (row) => <When time={row.created_at} /> },
                { key: "type", label: t("events.type"), render: (row) => row.type },
                {
                  key: "status",
                  label: t("column.status"),
                  render: (row) => <Status tone={tones[row.status]} label={t(`status.${row.status}`)} />,
                },
              ]}
            />
          )
        }
      </Load>
    </SectionCard>
  );
}
