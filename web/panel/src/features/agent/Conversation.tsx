import { Alert, Button, Group, Paper, Select, Stack, Text, Textarea, TextInput } from "@mantine/core";
import { IconSparkles } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { ApiFailure, isAbort } from "~/api/failure";
import { money } from "~/i18n/formats";
import { useAction } from "~/ui/action";
import { Confirm } from "~/ui/Confirm";
import { Empty } from "~/ui/Empty";
import { ErrorNote } from "~/ui/ErrorNote";
import { Load } from "~/ui/Load";
import { done, failed } from "~/ui/notice";
import { Status, type Tone } from "~/ui/Status";
import { When } from "~/ui/When";

import classes from "./Agent.module.css";
import {
  cancelRun,
  conversation,
  conversations,
  decide,
  deleteConversation,
  isOver,
  pending,
  run,
  undoChange,
  undoRun,
  type Approval,
  type Decision,
  type FileChange,
  type Message,
  type Run,
  type Settings,
} from "./api";
import { Diff } from "./Diff";
import { t } from "./texts";
import { turns } from "./validate";
import { useRun } from "./useRun";

const tones: Record<Run["status"], Tone> = {
  queued: "busy",
  running: "busy",
  waiting_approval: "warn",
  completed: "good",
  failed: "bad",
  cancelled: "neutral",
};

/** A conversation with the agent, its work as it happens, and the field for the next task. */
export function Conversation({
  service,
  settings,
  id,
  task,
  onOpen,
}: {
  service: number;
  settings: Settings;
  id: number | null;
  task: string;
  onOpen: (conversation: number | null) => void;
}) {
  const queries = useQueryClient();
  const list = useQuery(conversations(service));
  const story = useQuery({ ...conversation(service, id ?? 0), enabled: id !== null });
  const approvals = useQuery(pending(service));
  const status = id === null ? "idle" : (story.data?.status ?? "idle");
  const latest = story.data?.messages.at(-1)?.run_id ?? null;
  const { text, following, start } = useRun(service, status === "running" ? latest : null);
  const [message, setMessage] = useState(task);
  const [error, setError] = useState<unknown>(null);
  const busy = following !== null || status === "running" || status === "waiting_approval";

  const send = async () => {
    setError(null);
    const asked = message.trim();
    try {
      await start(asked, id, (started) => {
        setMessage("");
        if (id !== null) return;
        queries
          .fetchQuery(run(service, started))
          .then(({ conversation_id }) => onOpen(conversation_id))
          .catch(failed);
      });
    } catch (failure) {
      if (!isAbort(failure)) setError(failure);
    }
  };
  return (
    <Stack>
      {(list.data?.data.length ?? 0) > 0 && (
        <Group align="flex-end" gap="sm">
          <Select
            label={t("conversations")}
            placeholder={t("conversations.choose")}
            data={(list.data?.data ?? []).map((one) => ({ value: String(one.id), label: one.title || `#${one.id}` }))}
            value={id === null ? null : String(id)}
            onChange={(value) => onOpen(value === null ? null : Number(value))}
            flex={1}
            maw={420}
          />
          <Button variant="default" onClick={() => onOpen(null)} disabled={id === null}>
            {t("conversations.new")}
          </Button>
          {id !== null && !busy && (
            <Confirm
              label={t("conversations.delete")}
              title={t("conversations.delete")}
              text={t("conversations.delete_text")}
              action={async () => {
                await deleteConversation(service, id);
                onOpen(null);
                await queries.invalidateQueries({ queryKey: ["service", service, "agent"] });
              }}
            />
          )}
        </Group>
      )}
      {id === null ? (
        <Empty icon={IconSparkles} title={t("empty.title")} text={t("empty.text")} />
      ) : (
        <Load query={story}>
          {({ messages }) => (
            <Stack>
              {turns(messages).map((turn) => (
                <Stack key={turn.run} gap="xs" component="section" aria-label={t("run", { id: turn.run })}>
                  {turn.messages.map((one) => (
                    <Said key={one.id} service={service} message={one} />
                  ))}
                  {following === turn.run && text && (
                    <Paper withBorder p="sm">
                      <Text className={classes.text}>{text}</Text>
                    </Paper>
                  )}
                  <RunEnd service={service} id={turn.run} />
                </Stack>
              ))}
            </Stack>
          )}
        </Load>
      )}
      {approvals.data?.data.map((approval) => (
        <Decide key={approval.id} service={service} approval={approval} />
      ))}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (message.trim()) void send();
        }}
      >
        <Stack gap="xs">
          <Textarea
            label={t("task")}
            placeholder={t("task.hint")}
            autosize
            minRows={2}
            maxRows={10}
            maxLength={8000}
            value={message}
            onChange={(event) => setMessage(event.currentTarget.value)}
            disabled={busy}
          />
          <ErrorNote error={error} />
          <Group justify="space-between">
            <Text size="sm" c="dimmed">
              {t("cost.before", { spent: money(settings.spent_this_month), budget: money(settings.monthly_budget) })}
            </Text>
            <Button type="submit" loading={following !== null} disabled={busy || message.trim() === ""}>
              {t("send")}
            </Button>
          </Group>
        </Stack>
      </form>
    </Stack>
  );
}

function Said({ service, message }: { service: number; message: Message }) {
  if (message.role === "user") {
    return (
      <Paper p="sm" className={classes.mine}>
        <Text className={classes.text}>{message.content}</Text>
      </Paper>
    );
  }
  if (message.role === "tool") return null; // what the tool told the model
  if (!message.content && message.tool_calls.length === 0 && message.file_changes.length === 0) return null;
  return (
    <Paper withBorder p="sm">
      <Stack gap="xs">
        {message.content && <Text className={classes.text}>{message.content}</Text>}
        {message.tool_calls.length > 0 && (
          <ul className={classes.tools}>
            {message.tool_calls.map((call) => (
              <li key={call.id}>
                <Text size="sm">
                  <Text span inherit fw={600}>
                    {t(`tool.${call.name as "read_file"}`)}
                  </Text>{" "}
                  <Text span inherit c="dimmed">
                    {t(`call.${call.status}`)}
                    {call.result_summary && ` · ${call.result_summary}`}
                  </Text>
                </Text>
              </li>
            ))}
          </ul>
        )}
        {message.file_changes.map((change) => (
          <Change key={change.id} service={service} change={change} />
        ))}
      </Stack>
    </Paper>
  );
}

function Change({ service, change }: { service: number; change: FileChange }) {
  const queries = useQueryClient();
  const [busy, setBusy] = useState(false);
  const undo = async () => {
    setBusy(true);
    try {
      await undoChange(service, change.id);
      done(t("undone"));
    } catch (error) {
      failed(error);
    } finally {
      setBusy(false);
      await queries.invalidateQueries({ queryKey: ["service", service] });
    }
  };
  return (
    <div>
      <Diff action={change.action} path={change.path} diff={change.diff}>
        <Text span size="sm" c="dimmed">
          {t(`change.${change.status}`)}
        </Text>
      </Diff>
      {change.status === "applied" && (
        <Button size="compact-sm" variant="default" mt={4} loading={busy} onClick={() => void undo()}>
          {t("undo.change")}
        </Button>
      )}
    </div>
  );
}

/** How a run stands, what it cost, and how to end it or take it back. */
function RunEnd({ service, id }: { service: number; id: number }) {
  const queries = useQueryClient();
  const query = useQuery(run(service, id));
  const [conflict, setConflict] = useState<string[] | null>(null);
  const [busy, setBusy] = useState(false);
  if (!query.data) return null;
  const { status, end_reason, usage, steps, held, changes, kind } = query.data;
  const act = async (action: () => Promise<unknown>, message: string) => {
    setBusy(true);
    try {
      await action();
      setConflict(null);
      done(message);
    } catch (error) {
      if (error instanceof ApiFailure && error.key === "ai_undo_conflict") {
        setConflict(Array.isArray(error.details.paths) ? (error.details.paths as string[]) : []);
      } else {
        failed(error);
      }
    } finally {
      setBusy(false);
      await queries.invalidateQueries({ queryKey: ["service", service] });
    }
  };
  return (
    <>
      <Group gap="sm">
        <span role="status">
          <Status tone={tones[status]} label={t(`status.${status}`)} />
        </span>
        {end_reason && end_reason !== "done" && <Text size="sm">{t(`reason.${end_reason}`)}</Text>}
        {kind === "agent" && (
          <Text size="sm" c="dimmed">
            {isOver(query.data)
              ? t("cost.after", { count: steps, cost: money(usage.cost) })
              : t("cost.held", { held: money(held), cost: money(usage.cost) })}
          </Text>
        )}
        {!isOver(query.data) && (
          <Button
            size="compact-sm"
            variant="default"
            loading={busy}
            onClick={() => void act(() => cancelRun(service, id), t("cancelled"))}
          >
            {t("cancel")}
          </Button>
        )}
        {isOver(query.data) && changes.some((change) => change.status === "applied") && (
          <Button
            size="compact-sm"
            variant="default"
            loading={busy}
            onClick={() => void act(() => undoRun(service, id, false), t("undone"))}
          >
            {t("undo.run")}
          </Button>
        )}
      </Group>
      {conflict && (
        <Alert color="orange" title={t("conflict.title")}>
          <Stack gap="xs" align="flex-start">
            <ul className={classes.tools}>
              {conflict.map((path) => (
                <li key={path}>{path}</li>
              ))}
            </ul>
            <Button size="xs" loading={busy} onClick={() => void act(() => undoRun(service, id, true), t("undone"))}>
              {t("conflict.rest")}
            </Button>
          </Stack>
        </Alert>
      )}
    </>
  );
}

/** What the agent wants to change, file by file, and the decision. */
function Decide({ service, approval }: { service: number; approval: Approval }) {
  const queries = useQueryClient();
  const [reason, setReason] = useState("");
  const [run, { busy, error }] = useAction((decision: Decision) =>
    decide(service, approval.id, decision, reason.trim()),
  );
  const answer = async (decision: Decision) => {
    await run(decision);
    await queries.invalidateQueries({ queryKey: ["service", service, "agent"] });
  };
  return (
    <Alert color="orange" title={t("approve.title")}>
      <Stack gap="sm">
        <Text size="sm">
          {t("approve.text")} <When time={approval.expires_at} />
        </Text>
        {approval.changes.map((change, at) => (
          <Diff key={at} action={change.action} path={change.path} to={change.to_path} diff={change.diff} />
        ))}
        <TextInput
          label={t("approve.reason")}
          value={reason}
          maxLength={500}
          onChange={(event) => setReason(event.currentTarget.value)}
        />
        <ErrorNote error={error} />
        <Group gap="sm">
          <Button loading={busy} onClick={() => void answer({ approve: true })}>
            {t("approve.yes")}
          </Button>
          <Button variant="light" loading={busy} onClick={() => void answer({ approve: true, rest: true })}>
            {t("approve.rest")}
          </Button>
          <Button variant="default" loading={busy} onClick={() => void answer({ approve: false })}>
            {t("approve.no")}
          </Button>
        </Group>
        <Text size="sm" c="dimmed">
          {t("approve.rest_text")}
        </Text>
      </Stack>
    </Alert>
  );
}
