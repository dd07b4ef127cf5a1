import { Alert, Button, Group, Text } from "@mantine/core";
import { IconUserShield } from "@tabler/icons-react";

import { leave } from "~/api/leave";
import { moment } from "~/i18n/formats";
import { refused } from "~/ui/notice";

import { boot } from "../boot";
import { t } from "./texts";

/** Over each page while a member of staff is signed in as a customer: whose account it is, until when, and the way back. */
export function ActingBar() {
  const account = boot.account;
  if (!account) return null;
  const back = async () => {
    if (!(await leave("/logout", `${boot.base}/staff/customers/${account.id}`))) refused(t("acting.leave.failed"));
  };
  return (
    <Alert
      color="orange"
      mb="md"
      icon={<IconUserShield aria-hidden />}
      role="status"
      title={t("acting.title", { email: account.email })}
    >
      <Group justify="space-between">
        <Text size="sm">{t("acting.text", { time: moment(account.until) })}</Text>
        <Button size="xs" onClick={() => void back()}>
          {t("acting.leave")}
        </Button>
      </Group>
    </Alert>
  );
}
