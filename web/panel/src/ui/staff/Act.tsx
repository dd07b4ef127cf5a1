import { Button, Group, Modal, NativeSelect, Stack, Text, Textarea, TextInput, type ButtonProps } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useState, type ReactNode } from "react";

import { newKey } from "~/api/client";
import type { Operation } from "~/api/staff";
import { useAction } from "~/ui/action";
import { ErrorNote } from "~/ui/ErrorNote";

import { useCan } from "./api";
import { cents } from "./cents";
import { t } from "./texts";

/** A field that an act asks for beside the reason. */
export interface ActField {
  name: string;
  label: string;
  hint?: string;
  initial?: string;
  optional?: boolean;
  type?: "text" | "number" | "datetime-local" | "area";
}

/** A list to choose from. It begins with `initial`, the present or the harmless value; without one, the person has to choose. */
export interface ActChoice {
  label: string;
  options: { value: string; label: string }[];
  initial?: string;
}

/** What was entered before an act. */
interface Entered {
  reason: string;
  /** Cents; 0 when none was asked for. */
  amount: number;
  /** Of the list of choices; empty when none was asked for. */
  choice: string;
  /** What stands in the further fields, by their names. */
  fields: Record<string, string>;
  /** The idempotency key of this act: sending it twice does it once. */
  key: string;
}

interface Props extends Omit<ButtonProps, "children"> {
  /** The operation; without the right to it there is no button. */
  operation: Operation;
  /** What the button and the dialog's button say. */
  label: string;
  /** What happens, and to whom. */
  text: ReactNode;
  /** Who reads the reason: the customer, or staff alone. Without it none is asked for. */
  reason?: "customer" | "staff";
  /** The amount asked for: its label, and what stands in the field. */
  amount?: { label: string; initial?: string };
  choice?: ActChoice;
  fields?: ActField[];
  /** What follows from what is entered, as it is typed. */
  after?: (entered: Pick<Entered, "choice" | "fields">) => ReactNode;
  /** What must be typed where much is lost. */
  word?: string;
  danger?: boolean;
  act: (entered: Entered) => Promise<unknown>;
}

/** A button for something that staff do to somebody's things: it says what happens and asks for the reason, for the audit log. */
export function Act({ operation, label, danger, ...rest }: Props) {
  const { text, reason, amount, choice, fields, after, word, act, ...button } = rest;
  const can = useCan();
  const [opened, { open, close }] = useDisclosure();
  if (!can(operation)) return null;
  return (
    <>
      <Button variant="light" color={danger ? "red" : undefined} size="sm" {...button} onClick={open}>
        {label}
      </Button>
      <Modal opened={opened} onClose={close} title={label} centered>
        <ActForm {...{ label, danger, text, reason, amount, choice, fields, after, word, act, close }} />
      </Modal>
    </>
  );
}

type FormProps = Pick<
  Props,
  "label" | "danger" | "text" | "reason" | "amount" | "choice" | "fields" | "after" | "word" | "act"
> & {
  close: () => void;
};

function ActForm({ label, danger, text, reason, amount, choice, fields = [], after, word, act, close }: FormProps) {
  const [key] = useState(newKey);
  const [because, setBecause] = useState("");
  const [money, setMoney] = useState(amount?.initial ?? "");
  const [chosen, setChosen] = useState(choice?.initial ?? "");
  const [values, setValues] = useState(() => Object.fromEntries(fields.map((one) => [one.name, one.initial ?? ""])));
  const [typed, setTyped] = useState("");
  const [tried, setTried] = useState(false);
  const [run, { busy, error }] = useAction(act);
  const value = amount ? cents(money) : 0;
  const noReason = reason !== undefined && because.trim() === "";
  const noChoice = choice !== undefined && chosen === "";
  const missing = (one: ActField) => !one.optional && (values[one.name] ?? "").trim() === "";
  const submit = async () => {
    setTried(true);
    if (noReason || noChoice || value === null || fields.some(missing) || (word && typed !== word)) return;
    if (await run({ reason: because.trim(), amount: value, choice: chosen, fields: values, key })) close();
  };
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        event.stopPropagation(); // React's events leave the dialog for a form that the button stands in
        void submit();
      }}
    >
      <Stack>
        <Text component="div">{text}</Text>
        {amount && (
          <TextInput
            label={amount.label}
            value={money}
            onChange={(event) => setMoney(event.currentTarget.value)}
            leftSection="$"
            inputMode="decimal"
            autoComplete="off"
            required
            data-autofocus
            error={tried && value === null ? t("amount.wrong") : undefined}
          />
        )}
        {choice && (
          <NativeSelect
            label={choice.label}
            data={choice.initial ? choice.options : [{ value: "", label: t("choice.none") }, ...choice.options]}
            value={chosen}
            onChange={(event) => setChosen(event.currentTarget.value)}
            required
            error={tried && noChoice ? t("choice.missing") : undefined}
          />
        )}
        {fields.map((one) => {
          const Field = one.type === "area" ? Textarea : TextInput;
          return (
            <Field
              key={one.name}
              type={one.type === "area" ? undefined : (one.type ?? "text")}
              label={one.label}
              description={one.hint}
              value={values[one.name] ?? ""}
              onChange={(event: { currentTarget: { value: string } }) => {
                const next = event.currentTarget.value;
                setValues((before) => ({ ...before, [one.name]: next }));
              }}
              autoComplete="off"
              required={!one.optional}
              error={tried && missing(one) ? t("field.missing") : undefined}
            />
          );
        })}
        {after?.({ choice: chosen, fields: values })}
        {reason && (
          <Textarea
            label={t("reason")}
            description={t(reason === "customer" ? "reason.customer" : "reason.staff")}
            value={because}
            onChange={(event) => setBecause(event.currentTarget.value)}
            autosize
            minRows={2}
            maxLength={200}
            required
            data-autofocus={amount ? undefined : true}
            error={tried && noReason ? t("reason.missing") : undefined}
          />
        )}
        {word && (
          <TextInput
            label={t("word", { word })}
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
            autoComplete="off"
            spellCheck={false}
          />
        )}
        <ErrorNote error={error} />
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            {t("cancel")}
          </Button>
          <Button
            type="submit"
            color={danger ? "red" : undefined}
            loading={busy}
            disabled={word !== undefined && typed !== word}
          >
            {label}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
