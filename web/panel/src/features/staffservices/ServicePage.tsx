import { Card, Code, Group, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { PageHeader } from "~/ui/PageHeader";
import { PageLoad } from "~/ui/PageLoad";
import { type StaffPage } from "~/ui/staff/page";
import { StaffLink } from "~/ui/staff/StaffLink";
import { Act } from "~/ui/staff/Act";
import { moves } from "~/ui/staff/api";
import { useChanged } from "~/ui/staff/changed";
import { CustomerLink } from "~/ui/staff/CustomerLink";
import { readTarget } from "~/ui/staff/labels";
import { Facts as FactList, type Fact } from "~/ui/staff/Facts";
import { ServiceState } from "~/ui/staff/lists";
import { MoveState } from "~/ui/staff/MoveState";
import { When } from "~/ui/When";

import {
  move,
  restore,
  retry,
  service,
  suspend,
  suspensions,
  terminate,
  unsuspend,
  type Service,
  type Suspension,
} from "./api";
import { t } from "./texts";

const nameOf = (data: Service) => data.label || data.domain || `#${data.id}`;

export function ServicePage({ id }: StaffPage) {
  const query = useQuery(service(Number(id)));
  return (
    <PageLoad query={query}>
      {(data) => (
        <>
          <PageHeader
            title={nameOf(data)}
            aside={<ServiceState status={data.status} />}
            description={`#${data.id}`}
            actions={<Actions data={data} />}
          />
          <Facts data={data} />
          <Moves id={data.id} />
          {["active", "past_due"].includes(data.status) && (
            <Text size="sm" c="dimmed" mt="md">
              {t("terminate.first")}
            </Text>
          )}
        </>
      )}
    </PageLoad>
  );
}

function Actions({ data }: { data: Service }) {
  const changed = useChanged();
  const { id, status } = data;
  const name = nameOf(data);
  const after = async (work: Promise<unknown>, message: string) => {
    await work;
    await changed(message);
  };
  return (
    <>
      {status === "provisioning" && (
        <Act
          operation="staff.services.retry"
          label={t("retry")}
          text={t("retry.text", { name })}
          reason="staff"
          act={({ reason }) => after(retry(id, reason), t("retry.done"))}
        />
      )}
      {["active", "past_due"].includes(status) && (
        <Act
          operation="staff.services.suspend"
          label={t("suspend")}
          text={t("suspend.text", { name })}
          choice={{
            label: t("suspend.kind"),
            options: suspensions.map((one) => ({ value: one, label: t(`reason.${one}`) })),
          }}
          reason="staff"
          danger
          act={({ choice, reason }) => after(suspend(id, choice as Suspension, reason), t("suspend.done"))}
        />
      )}
      {status === "suspended" && (
        <>
          <Act
            operation="staff.services.unsuspend"
            label={t("unsuspend")}
            text={t("unsuspend.text", { name })}
            reason="staff"
            act={({ reason }) => after(unsuspend(id, reason), t("unsuspend.done"))}
          />
          <Act
            operation="staff.services.terminate"
            label={t("terminate")}
            text={t("terminate.text", { name })}
            reason="staff"
            word={name}
            danger
            act={({ reason }) => after(terminate(id, reason), t("terminate.done"))}
          />
        </>
      )}
      {data.node && ["active", "past_due", "suspended"].includes(status) && (
        <Act
          operation="staff.services.move"
          label={t("move")}
          text={t("move.text", { name, node: data.node })}
          choice={{
            label: t("move.when"),
            initial: "planned",
            options: [
              { value: "planned", label: t("move.planned") },
              { value: "now", label: t("move.now") },
            ],
          }}
          fields={[
            { name: "to", label: t("move.to"), optional: true },
            { name: "location", label: t("move.location"), optional: true },
            { name: "labels", label: t("move.labels"), hint: t("move.labels.hint"), optional: true },
          ]}
          reason="staff"
          act={({ choice, fields, reason }) =>
            after(move(id, readTarget(fields), choice === "now", reason), t("move.begun"))
          }
        />
      )}
      {status === "terminated" && (
        <Act
          operation="staff.services.restore"
          label={t("restore")}
          text={t("restore.text", { name })}
          reason="staff"
          act={({ reason }) => after(restore(id, reason), t("restore.done"))}
        />
      )}
    </>
  );
}

function Facts({ data }: { data: Service }) {
  const facts: Fact[] = [
    [t("fact.customer"), <CustomerLink key="customer" id={data.account_id} email={data.email} />],
    [t("fact.domain"), data.domain ?? "–"],
    [t("fact.plan"), data.plan],
    [t("fact.type"), data.type],
    [t("fact.node"), data.node ?? data.panel],
    [
      t("fact.order"),
      <StaffLink key="order" to={`orders/${data.order_id}`}>
        #{data.order_id}
      </StaffLink>,
    ],
    [t("fact.since"), <When key="since" time={data.created_at} />],
    [t("fact.until"), data.expires_at ? <When key="until" time={data.expires_at} /> : "–"],
  ];
  if (data.renewal_failure)
    facts.push([
      t("fact.renewal"),
      <Group key="renewal" gap="xs">
        <Code>{data.renewal_failure}</Code>
        {data.renewal_failed_at && <When time={data.renewal_failed_at} form="relative" />}
      </Group>,
    ]);
  if (data.suspend_reason)
    facts.push([
      t("fact.reason"),
      suspensions.includes(data.suspend_reason as Suspension)
        ? t(`reason.${data.suspend_reason as Suspension}`)
        : data.suspend_reason,
    ]);
  return (
    <Card withBorder maw={560}>
      <FactList facts={facts} />
    </Card>
  );
}

/** How far the moves of a service between servers are; nothing where there are none. */
function Moves({ id }: { id: number }) {
  const query = useQuery(moves({ service_id: id, per_page: 5 }));
  const all = query.data?.data ?? [];
  if (all.length === 0) return null;
  return (
    <Card withBorder maw={560} mt="md" component="section" aria-label={t("moves")}>
      <Title order={2} mb="sm">
        {t("moves")}
      </Title>
      {all.map((m) => (
        <MoveState key={m.id} move={m} />
      ))}
    </Card>
  );
}
