import { Alert, Button, Group, Switch, Text } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";

import { ApiFailure } from "~/api/failure";
import { useAction } from "~/ui/action";
import { ErrorNote } from "~/ui/ErrorNote";
import { PageHeader } from "~/ui/PageHeader";
import { Status, type Tone } from "~/ui/Status";

import { shell, switchOn } from "./api";
import { connect, type State } from "./connect";
import classes from "./TerminalPage.module.css";
import { t } from "./texts";

const tones: Record<State, Tone> = { connecting: "busy", open: "good", ended: "neutral", refused: "bad" };

/** A shell of the service. */
export function TerminalPage({ service }: { service: number }) {
  const place = useRef<HTMLDivElement>(null);
  const below = useRef<HTMLInputElement>(null);
  const [attempt, setAttempt] = useState(0);
  const [reader, setReader] = useState(false);
  const [{ state, error }, setState] = useState<{ state: State; error?: unknown }>({ state: "connecting" });
  useEffect(() => {
    if (!place.current) return;
    return connect(place.current, service, {
      label: t("title"),
      describedBy: "terminal-keys",
      reader,
      onState: (next, failure) => setState({ state: next, error: failure }),
      onLeave: () => below.current?.focus(),
    });
  }, [service, attempt, reader]);
  const over = state === "ended" || state === "refused";
  return (
    <>
      <PageHeader
        title={t("title")}
        description={t("description")}
        aside={
          <span role="status">
            <Status tone={tones[state]} label={t(`state.${state}`)} />
          </span>
        }
        actions={over && <Button onClick={() => setAttempt(attempt + 1)}>{t("again")}</Button>}
      />
      {error instanceof ApiFailure && error.key === "unsupported_operation" ? (
        <Unsupported service={service} error={error} onSwitched={() => setAttempt(attempt + 1)} />
      ) : (
        <ErrorNote error={error} />
      )}
      <div ref={place} className={error ? classes.hidden : classes.place} />
      <Text id="terminal-keys" size="sm" c="dimmed" mt="xs" hidden={Boolean(error)}>
        {t("keys")}
      </Text>
      <Group mt="sm">
        <Switch
          ref={below}
          label={t("reader")}
          description={t("reader_hint")}
          checked={reader}
          onChange={(event) => setReader(event.currentTarget.checked)}
        />
      </Group>
    </>
  );
}

/** There is no terminal. It may only be that the shell is off, which is how every service begins. */
function Unsupported({ service, error, onSwitched }: { service: number; error: unknown; onSwitched: () => void }) {
  const query = useQuery(shell(service));
  const queries = useQueryClient();
  const [start, { busy, error: refusal }] = useAction(async () => {
    await switchOn(service);
    await queries.invalidateQueries({ queryKey: shell(service).queryKey });
    onSwitched();
  });
  if (query.data?.enabled !== false || refusal) return <ErrorNote error={refusal ?? error} />;
  return (
    <Alert color="blue" title={t("off")}>
      <Text size="sm" mb="sm">
        {t("off.text")}
      </Text>
      <Button onClick={() => void start()} loading={busy}>
        {t("on")}
      </Button>
    </Alert>
  );
}
