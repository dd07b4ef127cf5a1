import {
  ActionIcon,
  Button,
  Code,
  Group,
  Modal,
  NativeSelect,
  NumberInput,
  Stack,
  Switch,
  Text,
  TextInput,
} from "@mantine/core";
import { useForm } from "@mantine/form";
import { IconClock, IconPencil, IconPlus, IconTrash } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { number } from "~/i18n/formats";
import { Confirm } from "~/ui/Confirm";
import { DataTable } from "~/ui/DataTable";
import { Empty } from "~/ui/Empty";
import { ErrorNote } from "~/ui/ErrorNote";
import { useSubmit } from "~/ui/form";
import { Load } from "~/ui/Load";
import { done, failed } from "~/ui/notice";
import { PageHeader } from "~/ui/PageHeader";
import { Status, type Tone } from "~/ui/Status";
import { When } from "~/ui/When";

import { createJob, cronJobs, deleteJob, updateJob, type CronJob } from "./api";
import { isZone, nextRuns, parse } from "./schedule";
import { t } from "./texts";

const tones: Record<CronJob["status"], Tone> = { pending: "busy", active: "good", failed: "bad" };
const own = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";

export function CronJobs({ service }: { service: number }) {
  const query = useQuery(cronJobs(service));
  const queries = useQueryClient();
  const [form, setForm] = useState<CronJob | "new" | null>(null);
  const [output, setOutput] = useState<CronJob | null>(null);
  const fresh = () => queries.invalidateQueries({ queryKey: ["service", service] });
  const toggle = async (job: CronJob) => {
    try {
      await updateJob(service, job.id, { enabled: !job.enabled });
      await fresh();
    } catch (error) {
      failed(error);
    }
  };
  const add = (
    <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setForm("new")}>
      {t("add")}
    </Button>
  );
  return (
    <>
      <PageHeader title={t("title")} description={t("description")} actions={add} />
      <Load query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty icon={IconClock} title={t("empty.title")} text={t("empty.text")} action={add} />
          ) : (
            <DataTable
              caption={t("title")}
              rows={data}
              rowKey={(row) => row.id}
              columns={[
                {
                  key: "command",
                  label: t("column.command"),
                  render: (row) => (
                    <Stack gap={2}>
                      <Code>{row.command}</Code>
                      <Text size="sm" c="dimmed">
                        {row.preset ?? row.expression} · {row.timezone}
                      </Text>
                    </Stack>
                  ),
                },
                {
                  key: "status",
                  label: t("column.status"),
                  render: (row) => (
                    <Status
                      tone={row.running ? "busy" : row.enabled ? tones[row.status] : "neutral"}
                      label={row.running ? t("running") : row.enabled ? t(`status.${row.status}`) : t("off")}
                    />
                  ),
                },
                {
                  key: "last",
                  label: t("column.last"),
                  render: (row) =>
                    row.last_run_at ? (
                      <Stack gap={2} align="flex-start">
                        <When time={row.last_run_at} form="relative" />
                        <Status
                          tone={row.last_exit_code === 0 ? "good" : "bad"}
                          label={
                            row.last_exit_code === 0
                              ? t("end.good", { seconds: number((row.last_duration_ms ?? 0) / 1000) })
                              : row.last_end === "timeout"
                                ? t("end.timeout")
                                : t("end.bad", { code: row.last_exit_code ?? "–" })
                          }
                        />
                        {row.last_output && (
                          <Button size="compact-xs" variant="subtle" onClick={() => setOutput(row)}>
                            {t("output")}
                          </Button>
                        )}
                      </Stack>
                    ) : (
                      t("never")
                    ),
                },
                {
                  key: "next",
                  label: t("column.next"),
                  render: (row) => (row.next_run_at ? <When time={row.next_run_at} /> : "–"),
                },
                {
                  key: "actions",
                  label: t("column.actions"),
                  actions: true,
                  render: (row) => (
                    <>
                      <Switch
                        checked={row.enabled}
                        onChange={() => void toggle(row)}
                        aria-label={t("enabled", { command: row.command })}
                      />
                      <ActionIcon
                        variant="subtle"
                        aria-label={t("edit", { command: row.command })}
                        onClick={() => setForm(row)}
                      >
                        <IconPencil size={16} aria-hidden />
                      </ActionIcon>
                      <Confirm
                        label={t("remove", { command: row.command })}
                        title={t("remove.title")}
                        text={t("remove.text", { command: row.command })}
                        action={async () => {
                          await deleteJob(service, row.id);
                          await fresh();
                          done(t("removed"));
                        }}
                        icon={<IconTrash size={16} aria-hidden />}
                        size="compact-sm"
                        variant="subtle"
                      />
                    </>
                  ),
                },
              ]}
            />
          )
        }
      </Load>
      <Modal
        opened={form !== null}
        onClose={() => setForm(null)}
        title={form === "new" ? t("add") : t("edit.title")}
        size="lg"
      >
        {form && (
          <JobForm
            service={service}
            job={form === "new" ? null : form}
            onDone={async () => {
              setForm(null);
              await fresh();
              done(t("saved"));
            }}
          />
        )}
      </Modal>
      <Modal opened={output !== null} onClose={() => setOutput(null)} title={t("output")} size="xl">
        <Code block>{output?.last_output}</Code>
      </Modal>
    </>
  );
}

const examples = ["*/5 * * * *", "0 * * * *", "0 3 * * *", "0 3 * * 1", "0 3 1 * *"] as const;

function JobForm({ service, job, onDone }: { service: number; job: CronJob | null; onDone: () => Promise<void> }) {
  const form = useForm({
    mode: "controlled",
    initialValues: {
      expression: job?.preset ?? job?.expression ?? "0 3 * * *",
      command: job?.command ?? "",
      timezone: job?.timezone ?? own,
      timeout_seconds: (job?.timeout_seconds ?? 3600) as number | string,
      overlap: (job?.overlap ?? "skip") as "skip" | "allow",
    },
    validate: {
      expression: (expression) => (parse(expression) ? null : t("expression.wrong")),
      command: (command) => (command.trim() === "" ? t("command.empty") : null),
      timezone: (zone) => (isZone(zone) ? null : t("timezone.wrong")),
    },
  });
  const { expression, timezone } = form.getValues();
  const [others, setOthers] = useState(false);
  const schedule = parse(expression);
  const runs = schedule && isZone(timezone) ? nextRuns(schedule, timezone, new Date(), 3) : [];
  const { submit, error } = useSubmit(form, async (values) => {
    const body = { ...values, command: values.command.trim(), timeout_seconds: Number(values.timeout_seconds) };
    await (job ? updateJob(service, job.id, body) : createJob(service, body));
    await onDone();
  });
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <TextInput
          label={t("field.command")}
          description={t("field.command_hint")}
          placeholder="php public_html/cron.php"
          spellCheck={false}
          autoComplete="off"
          data-autofocus
          {...form.getInputProps("command")}
        />
        <NativeSelect
          label={t("field.often")}
          value={others || !(examples as readonly string[]).includes(expression) ? "" : expression}
          data={[
            ...examples.map((one) => ({ value: one, label: t(`often.${one}`) })),
            { value: "", label: t("often.own") },
          ]}
          onChange={({ currentTarget: { value } }) => {
            setOthers(value === "");
            if (value) form.setFieldValue("expression", value);
          }}
        />
        <Group grow align="flex-start">
          <TextInput
            label={t("field.expression")}
            description={t("field.expression_hint")}
            spellCheck={false}
            {...form.getInputProps("expression")}
          />
          <TextInput
            label={t("field.timezone")}
            description={t("field.timezone_hint")}
            spellCheck={false}
            {...form.getInputProps("timezone")}
          />
        </Group>
        <Text size="sm" component="div" role="status">
          {runs.length > 0 ? t("runs") : t("runs.none")}{" "}
          {runs.map((run, i) => (
            <span key={run.getTime()}>
              {i > 0 && "; "}
              <When time={run.toISOString()} />
            </span>
          ))}
        </Text>
        <Group grow align="flex-start">
          <NumberInput
            label={t("field.timeout_seconds")}
            min={1}
            max={86400}
            {...form.getInputProps("timeout_seconds")}
          />
          <NativeSelect
            label={t("field.overlap")}
            data={[
              { value: "skip", label: t("overlap.skip") },
              { value: "allow", label: t("overlap.allow") },
            ]}
            {...form.getInputProps("overlap")}
          />
        </Group>
        <ErrorNote error={error} />
        <Group justify="flex-end">
          <Button type="submit" loading={form.submitting}>
            {t("save")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
