import { Alert, Button, Group, NativeSelect, Stack, Text, Textarea, TextInput } from "@mantine/core";
import { useEffect, useRef, useState, type KeyboardEvent } from "react";

import { ApiFailure } from "~/api/failure";
import { ErrorNote } from "~/ui/ErrorNote";

import classes from "./RecordForm.module.css";
import { t } from "./texts";
import { extras, problems, types, type Draft, type Field } from "./validate";

interface Props {
  /** What the form begins with; read once. */
  initial: Draft;
  zone: string;
  /** What the form is for, such as "Edit www A". */
  label: string;
  /** A new record, whose type can be chosen. */
  isNew?: boolean;
  /** Why the last attempt was refused. */
  error?: unknown;
  /** The record as it is now, when somebody else has changed it since the form was opened. */
  theirs?: Draft | null;
  onSave: (draft: Draft) => void | Promise<void>;
  onCancel: () => void;
  onKeepMine?: () => void;
}

/** The form of a record, within the table. Enter saves, Escape cancels. */
export function RecordForm({ initial, zone, label, isNew, error, theirs, onSave, onCancel, onKeepMine }: Props) {
  const [draft, setDraft] = useState(initial);
  const [touched, setTouched] = useState<Partial<Record<Field, boolean>>>({});
  const [changed, setChanged] = useState<Partial<Record<Field, boolean>>>({});
  const [busy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const found = problems(draft);
  const refused = error instanceof ApiFailure ? error.fields : {};
  const known: Field[] = ["name", "value", "ttl", ...(extras[draft.type] ?? [])];
  const beside = known.filter((field) => refused[field]);

  useEffect(() => {
    const first = form.current?.querySelector<HTMLElement>("[aria-invalid=true]");
    if (error && first) first.focus();
  }, [error]);

  const put = (changes: Partial<Draft>) => setDraft((before) => ({ ...before, ...changes }));
  const input = (field: Field) => {
    const problem = found[field];
    const said = changed[field] ? undefined : refused[field]?.join(" ");
    return {
      name: field,
      label: t(`field.${field}`),
      value: draft[field],
      onChange: (event: { currentTarget: { value: string } }) => {
        const typed = event.currentTarget.value;
        setChanged((before) => ({ ...before, [field]: true }));
        put({ [field]: typed });
      },
      onBlur: () => setTouched((before) => ({ ...before, [field]: true })),
      error: (touched[field] && problem && t(problem)) || said,
      autoComplete: "off",
      spellCheck: false,
    };
  };
  const save = async () => {
    setTouched(Object.fromEntries(known.map((field) => [field, true])));
    const first = known.find((field) => found[field]);
    if (first) {
      form.current?.querySelector<HTMLElement>(`[name=${first}]`)?.focus();
      return;
    }
    setChanged({});
    setBusy(true);
    try {
      await onSave(draft);
    } finally {
      setBusy(false);
    }
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    onCancel();
  };
  const type = draft.type;
  const value = { ...input("value"), placeholder: t(`placeholder.${type as "A"}`) };
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- Escape leaves the form
    <form
      ref={form}
      noValidate
      aria-label={label}
      onKeyDown={onKeyDown}
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <Stack gap="sm" py="xs">
        {theirs && (
          <Alert color="orange" variant="light" title={t("changed.title")}>
            <Text size="sm" className={classes.whole}>
              {theirs.name} {theirs.type} {theirs.value} ({theirs.ttl})
            </Text>
            <Group gap="xs" mt="xs">
              <Button
                size="compact-sm"
                variant="default"
                onClick={() => {
                  setDraft(theirs);
                  onKeepMine?.();
                }}
              >
                {t("changed.theirs")}
              </Button>
              <Button size="compact-sm" variant="default" onClick={onKeepMine}>
                {t("changed.mine")}
              </Button>
            </Group>
          </Alert>
        )}
        <div className={classes.fields}>
          {isNew && (
            <NativeSelect
              label={t("field.type")}
              value={type}
              data={types.map((one) => ({ value: one, label: one }))}
              onChange={(event) => put({ type: event.currentTarget.value })}
              className={classes.type}
              description={t(`type.${type as "A"}`)}
              inputWrapperOrder={["label", "input", "description", "error"]}
            />
          )}
          <TextInput
            {...input("name")}
            placeholder="@"
            className={classes.name}
            data-autofocus
            // eslint-disable-next-line jsx-a11y/no-autofocus -- the person has just asked for this form
            autoFocus
            description={t("field.name_hint", { zone })}
            inputWrapperOrder={["label", "input", "description", "error"]}
          />
          {type === "TXT" ? (
            <Textarea
              {...value}
              autosize
              minRows={1}
              maxRows={8}
              className={classes.value}
              onKeyDown={(event) => {
                if (event.key !== "Enter") return;
                event.preventDefault();
                form.current?.requestSubmit();
              }}
            />
          ) : (
            <TextInput {...value} className={classes.value} />
          )}
          {extras[type]?.map((field) =>
            field === "tag" ? (
              <NativeSelect
                key={field}
                {...input("tag")}
                data={["issue", "issuewild", "issuemail", "iodef"]}
                className={classes.small}
              />
            ) : (
              <TextInput key={field} {...input(field)} inputMode="numeric" className={classes.small} />
            ),
          )}
          <TextInput {...input("ttl")} inputMode="numeric" className={classes.small} />
        </div>
        {Boolean(error) && beside.length < Math.max(1, Object.keys(refused).length) && <ErrorNote error={error} />}
        <Group gap="xs" justify="flex-end">
          <Button variant="default" size="sm" onClick={onCancel}>
            {t("cancel")}
          </Button>
          <Button type="submit" size="sm" loading={busy}>
            {t(isNew ? "add" : "save")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
