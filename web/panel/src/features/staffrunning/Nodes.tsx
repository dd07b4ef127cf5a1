import { Alert, Badge, Card, Code, Group, Progress, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { IconServer2 } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import type { Schemas } from "~/api/staff";
import { megabytes, number } from "~/i18n/formats";
import { Copy } from "~/ui/Copy";
import { Empty } from "~/ui/Empty";
import { Load } from "~/ui/Load";
import { done } from "~/ui/notice";
import { PageHeader } from "~/ui/PageHeader";
import { Act, type ActField } from "~/ui/staff/Act";
import { moves } from "~/ui/staff/api";
import { Facts, type Fact } from "~/ui/staff/Facts";
import { readLabels, readTarget, writeLabels } from "~/ui/staff/labels";
import { MoveState } from "~/ui/staff/MoveState";
import { Narrowed } from "~/ui/staff/Narrowed";
import { oneIn, type StaffPage } from "~/ui/staff/page";
import { StaffLink } from "~/ui/staff/StaffLink";
import { Status, type Tone } from "~/ui/Status";
import { When } from "~/ui/When";

import { addNode, drain, evacuate, maintain, nodes, recover, rejoin, resume, setNode, upgrade, type Node } from "./api";
import { t } from "./texts";

const tones: Record<string, Tone> = {
  invited: "neutral",
  active: "good",
  draining: "warn",
  offline: "bad",
  maintenance: "warn",
  retired: "neutral",
};

/** The hosting machines: their room and health, who may get more services, and the invitation of new ones. */
export function Nodes({ search: raw, onSearch }: StaffPage) {
  const attention = oneIn(raw.attention, ["nodes_silent"] as const);
  const query = useQuery(nodes({ attention }));
  const queries = useQueryClient();
  const [invited, setInvited] = useState<Schemas["AdminInvitation"] | null>(null);
  const refresh = () => queries.invalidateQueries({ queryKey: ["staff"] });
  const add = (
    <Act
      operation="staff.nodes.add"
      label={t("nodes.add")}
      text={t("nodes.add.text")}
      fields={[
        { name: "name", label: t("nodes.name") },
        { name: "location", label: t("nodes.location"), optional: true },
        { name: "labels", label: t("nodes.labels"), hint: t("nodes.labels.hint"), optional: true },
        ...limits(0, 100),
      ]}
      act={async ({ fields }) => {
        setInvited(
          await addNode({
            name: fields.name ?? "",
            location: fields.location,
            labels: readLabels(fields.labels ?? ""),
            ...readLimits(fields),
          }),
        );
        await refresh();
      }}
    />
  );
  return (
    <>
      <PageHeader title={t("nodes.title")} description={t("nodes.description")} actions={add} />
      <Narrowed on={attention !== undefined} onAll={() => onSearch({})} />
      <Stack>
        {invited && (
          <Alert
            color="blue"
            title={t("nodes.invited", { name: invited.node.name })}
            withCloseButton
            onClose={() => setInvited(null)}
          >
            <Text mb="xs">{t("nodes.invited.text")}</Text>
            <Copy value={invited.command} label={t("nodes.command")} />
          </Alert>
        )}
        <Load query={query}>
          {({ data }) =>
            data.length === 0 ? (
              <Empty icon={IconServer2} title={t("nodes.none")} text={t("nodes.none.text")} />
            ) : (
              <SimpleGrid cols={{ base: 1, md: 2 }}>
                {data.map((node) => (
                  <NodeCard key={node.id} node={node} refresh={refresh} onInvited={setInvited} />
                ))}
              </SimpleGrid>
            )
          }
        </Load>
        <Moves />
      </Stack>
    </>
  );
}

/** The services that are on their way from one machine to another; nothing while there are none. */
function Moves() {
  const query = useQuery(moves({ running: true, per_page: 50 }));
  const all = query.data?.data ?? [];
  if (all.length === 0) return null;
  return (
    <Card withBorder component="section" aria-label={t("moves.title")}>
      <Title order={2} mb="sm">
        {t("moves.title")} ({number(query.data?.meta.total ?? all.length)})
      </Title>
      <Stack>
        {all.map((one) => (
          <MoveState key={one.id} move={one} named />
        ))}
      </Stack>
    </Card>
  );
}

/** How much a machine takes. */
const limits = (accounts: number, percent: number): ActField[] => [
  {
    name: "max_accounts",
    label: t("nodes.max"),
    hint: t("nodes.max.hint"),
    initial: String(accounts),
    type: "number",
  },
  {
    name: "disk_percent",
    label: t("nodes.percent"),
    hint: t("nodes.percent.hint"),
    initial: String(percent),
    type: "number",
  },
];

/** The limits that differ from what they were: a colleague may have changed the others meanwhile. */
const readLimits = (fields: Record<string, string>, before?: Node) => ({
  max_accounts: Number(fields.max_accounts) === before?.max_accounts ? undefined : Number(fields.max_accounts),
  disk_percent: Number(fields.disk_percent) === before?.disk_percent ? undefined : Number(fields.disk_percent),
});

function NodeCard({
  node,
  refresh,
  onInvited,
}: {
  node: Node;
  refresh: () => Promise<void>;
  onInvited: (invitation: Schemas["AdminInvitation"]) => void;
}) {
  const { name, capacity: room } = node;
  const used = room.disk_mb ? 100 - (room.disk_free_mb / room.disk_mb) * 100 : 0;
  const labels = writeLabels(node.labels);
  const facts: Fact[] = [
    [
      t("nodes.services"),
      <StaffLink key="services" to="services" search={{ node: name }}>
        {number(node.services)}
        {node.max_accounts > 0 && ` / ${number(node.max_accounts)}`}
      </StaffLink>,
    ],
    [
      t("nodes.sold"),
      `${megabytes(node.sold_disk_mb)} / ${megabytes(node.sellable_disk_mb)} (${number(node.disk_percent / 100, { style: "percent" })})`,
    ],
    [t("nodes.load"), `${number(room.load, { maximumFractionDigits: 2 })} / ${number(room.cpus)}`],
    [t("nodes.memory"), `${megabytes(room.memory_free_mb)} / ${megabytes(room.memory_mb)}`],
    [t("nodes.seen"), node.last_seen_at ? <When key="seen" time={node.last_seen_at} form="relative" /> : "–"],
    [t("nodes.version"), node.version || "–"],
  ];
  const targets = [
    { name: "to", label: t("nodes.evacuate.to"), optional: true },
    { name: "location", label: t("nodes.location"), optional: true },
    { name: "labels", label: t("nodes.labels"), hint: t("nodes.labels.hint"), optional: true },
  ];
  return (
    <Card withBorder component="section" aria-label={name}>
      <Group justify="space-between" mb="sm">
        <Title order={2}>{name}</Title>
        <Status
          tone={tones[node.state] ?? "neutral"}
          label={node.state in tones ? t(`node.${node.state}` as "node.active") : node.state}
        />
      </Group>
      <Text size="sm" c="dimmed" mb="xs">
        <Code>{node.address || "–"}</Code> {node.location}
      </Text>
      {labels.length > 0 && (
        <Group gap={6} mb="xs" role="group" aria-label={t("nodes.labels")}>
          {labels.map((label) => (
            <Badge key={label} variant="default" tt="none">
              {label}
            </Badge>
          ))}
        </Group>
      )}
      <Facts facts={facts} />
      {room.disk_mb > 0 && (
        <>
          <Text size="sm" mt="sm">
            {t("nodes.disk", { free: megabytes(room.disk_free_mb), all: megabytes(room.disk_mb) })}
          </Text>
          <Progress value={used} color={used > 90 ? "red" : undefined} aria-label={t("nodes.disk.used")} mt={4} />
        </>
      )}
      <Group mt="md">
        <Act
          operation="staff.nodes.set"
          label={t("nodes.set")}
          text={t("nodes.set.text", { name })}
          fields={[
            { name: "location", label: t("nodes.location"), initial: node.location, optional: true },
            {
              name: "labels",
              label: t("nodes.labels"),
              hint: t("nodes.labels.hint"),
              initial: labels.join(", "),
              optional: true,
            },
            ...limits(node.max_accounts, node.disk_percent),
          ]}
          reason="staff"
          act={async ({ fields, reason }) => {
            const wanted = readLabels(fields.labels ?? "");
            const changed = await setNode(name, {
              location: fields.location ?? "",
              labels: wanted,
              remove_labels: Object.keys(node.labels).filter((key) => !(key in wanted)),
              ...readLimits(fields, node),
              reason,
            });
            await refresh();
            done(changed.warning ?? t("nodes.set.done", { name }));
          }}
        />
        {node.state === "active" && (
          <Act
            operation="staff.nodes.drain"
            label={t("nodes.drain")}
            text={t("nodes.drain.text", { name })}
            act={async () => {
              await drain(name);
              await refresh();
              done(t("nodes.drained", { name }));
            }}
          />
        )}
        {node.state === "draining" && (
          <Act
            operation="staff.nodes.resume"
            label={t("nodes.resume")}
            text={t("nodes.resume.text", { name })}
            act={async () => {
              await resume(name);
              await refresh();
              done(t("nodes.resumed", { name }));
            }}
          />
        )}
        {node.joined_at && (
          <Act
            operation="staff.nodes.maintenance"
            label={t(node.maintenance ? "nodes.maintained" : "nodes.maintain")}
            text={t(node.maintenance ? "nodes.maintained.text" : "nodes.maintain.text", { name })}
            reason="staff"
            act={async ({ reason }) => {
              await maintain(name, !node.maintenance, reason);
              await refresh();
            }}
          />
        )}
        {node.behind && (
          <Act
            operation="staff.nodes.upgrade"
            label={t("nodes.upgrade")}
            text={t("nodes.upgrade.text", { name, version: node.version })}
            reason="staff"
            act={async ({ reason }) => {
              await upgrade(name, reason);
              await refresh();
              done(t("nodes.upgraded", { name }));
            }}
          />
        )}
        {["active", "draining"].includes(node.state) && node.services > 0 && (
          <Act
            operation="staff.nodes.evacuate"
            label={t("nodes.evacuate")}
            text={t("nodes.evacuate.text", { name })}
            choice={{
              label: t("nodes.evacuate.when"),
              initial: "planned",
              options: [
                { value: "planned", label: t("nodes.evacuate.planned") },
                { value: "now", label: t("nodes.evacuate.now") },
              ],
            }}
            fields={targets}
            reason="staff"
            act={async ({ choice, fields, reason }) => {
              const begun = await evacuate(name, readTarget(fields), choice === "now", reason);
              await refresh();
              done(t("nodes.evacuating", { moves: begun.moves.length }));
            }}
          />
        )}
        {node.state === "offline" && node.services > 0 && (
          <Act
            operation="staff.nodes.recover"
            label={t("nodes.recover")}
            text={t("nodes.recover.text", { name })}
            fields={targets}
            reason="staff"
            danger
            act={async ({ fields, reason }) => {
              const begun = await recover(name, readTarget(fields), reason);
              await refresh();
              done(t("nodes.recovering", { moves: begun.moves.length, alone: begun.without_backup.length }));
            }}
          />
        )}
        <Act
          operation="staff.nodes.rejoin"
          label={t("nodes.rejoin")}
          text={t("nodes.rejoin.text", { name })}
          danger
          act={async () => {
            onInvited(await rejoin(name));
            await refresh();
          }}
        />
      </Group>
    </Card>
  );
}
